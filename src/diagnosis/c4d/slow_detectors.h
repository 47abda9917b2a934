// What is slow in a job, by iterations and by windows: the two detectors of slowness, and what each tells the other.
//
// Method      A late rank excuses slow messages, a slow path excuses late ranks (docs/internals/modules/diagnosis.md).
//             A path is slow beside a late rank if iterations have grown by more than the lateness, and the path is
//             busy for as much longer. Slow paths cost nothing beyond what iterations take longer than at first, and
//             are unlikely where these do not. In pipelines waits for slow messages pass for own time: there ranks are
//             named by iterations only if no path is slow, others were seen to wait for them, and it lasts like a slow
//             path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/sim_time.h"
#include "diagnosis/c4d/completed_operation.h"
#include "diagnosis/c4d/slow_transfer_detector.h"
#include "diagnosis/c4d/straggler_detector.h"
#include "diagnosis/c4d/suspect.h"
#include "model/finding.h"
#include "model/finding_proof.h"
#include "model/place_names.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

class SlowDetectors {
 public:
  // Args: layout, must outlive this; names: for texts.
  SlowDetectors(const model::JobLayout& layout, const model::PlaceNames& names);

  void Add(const CompletedOperation& operation) { stragglers_.Add(operation); }
  // Args: report, of a rank of the layout; begins_anew: the rank counts its reports from another number.
  void Add(const model::RankReport& report, bool begins_anew);
  void Add(const model::HostReport& report) { stragglers_.Add(report); }

  // Who is slow by the evidence of iterations as of now.
  const std::vector<Suspect>& JudgeBlocks(SimTime now);
  // Length of a block of iterations; 0: not known.
  double BlockSeconds() const { return stragglers_.BlockSeconds(); }
  // Ends the window. Returns: slow paths, late ranks, those of the latest JudgeBlocks() that the window leaves, and
  // losses that cost nothing (Suspect::is_idle).
  std::vector<Suspect> EndWindow(SimTime now);
  // Whether it is about a path, and no message through it could be judged in the latest window, or some were late
  // without a cost: that is neither good nor bad.
  bool SaysNothingOf(const Suspect& suspect) const;

  // For proofs: slow_transfer_detector.h, straggler_detector.h.
  std::vector<model::TransferDelay> DelaysOf(std::span<const model::Culprit> culprits, size_t num_max,
                                             uint32_t* num_left_out) const {
    return transfers_.DelaysOf(culprits, num_max, num_left_out);
  }
  std::vector<model::IterationBlock> BlocksOf(std::span<const model::RankId> ranks) const {
    return stragglers_.BlocksOf(ranks);
  }

 private:
  // Leaves of those by blocks whom others were not seen not to wait for.
  void LeaveWaitedFor();
  // Leaves of those by blocks what a window of a pipeline does not contradict.
  void DoubtStages(bool has_slow_path);
  // Args: growth: by which share iterations take longer; nothing: not known.
  void TakeIdleLosses(const std::optional<double>& growth, std::vector<Suspect>* suspects);
  // Leaves of slow paths at late ranks those that cost more than lateness can explain.
  void ExcuseByLateRanks(const std::optional<double>& growth, std::vector<Suspect>* suspects) const;
  void WeighTransfers(std::vector<Suspect>* suspects);

  SlowTransferDetector transfers_;
  StragglerDetector stragglers_;
  std::vector<Suspect> by_blocks_;    // as of the latest JudgeBlocks()
  std::vector<Suspect> idle_losses_;  // of the latest window: they cost the job nothing
};

}  // namespace fairlead::diagnosis::c4d
