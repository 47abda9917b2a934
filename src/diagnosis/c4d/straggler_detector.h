// Which rank or host keeps all others waiting, by being late rather than by being badly connected?
//
// Problem     training goes at the pace of the slowest rank. Its lateness spreads: its tensor group waits for it, the
//             replicas of the group wait for the group, other stages of the pipeline wait for the stage. All of these
//             are late somewhere; the one that waits for none is the cause.
// Notation    three signals per rank and window, in seconds
//               own    time of its own doing between communications, over the ranks of the same stage (OwnTime)
//               blame  waits for it less its own waits, from the time inside collectives and exchanges of sends and
//                      receives all with all (WaitBlame, PairExchanges)
//               lag    the same from their starts, clocks aligned (WaitBlame, ClockOffsets)
// Method      1. each signal less what it is in the first windows without a suspect; own also less the lower median of
//             the ranks at the same position of their pipelines, per operation, so that slower iterations do not
//             matter;
//             2. a rank is late by a signal with z_line, and at least wait_share_min of the window;
//             3. candidates are the late ranks, and instead of several of one host the host, if most of its ranks are
//             late: the fewest of them, three at most, that have blame_share_min of all own time in excess together.
//             Own time ends every chain of waits;
//             4. one is a suspect if blame or lag agrees: beyond the median rank of the job, or of its stage. Of a host
//             that is most of a stage waits say little: its ranks are late by their own past, and its host threads must
//             idle more than they used to, those of others not.
//             A rank without collectives has own alone, at half confidence, and only if no report is missing.
//             Where it is not known when kernels began and ended, none of this is: there what has arrived at a rank
//             waits for it (arrival_waits.h).
//
// What it consists of, each with a state of its own; none knows the whole:
//
//     pipeline_stages      who does the same             collective_waits     for whom was waited in the window
//     own_time_watch       what ranks do by themselves   arrival_watch        the same where that is not known
//     throttled_gpus       whose clocks were down        window_verdict       what is normal, who was late last
//
// lateness_signals and late_candidates judge a window, straggler_suspects puts it into words; these have no state.
//
// Cost        O(operations) in all, O(ranks) per window.
// Guarantees  lateness that all share names none; one stall in a window names none.
// Differs     own time instead of the time inside collectives, and instead of walks along chains of waits: see
//             own_time.h.
// Reference   Dong et al., C4, HPCA 2025 (receiver-driven analysis); docs/spec/c4.md section 6.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/sim_time.h"
#include "diagnosis/c4d/arrival_watch.h"
#include "diagnosis/c4d/collective_waits.h"
#include "diagnosis/c4d/completed_operation.h"
#include "diagnosis/c4d/own_time_watch.h"
#include "diagnosis/c4d/pipeline_stages.h"
#include "diagnosis/c4d/received_load.h"
#include "diagnosis/c4d/slow_options.h"
#include "diagnosis/c4d/straggler_suspects.h"
#include "diagnosis/c4d/suspect.h"
#include "diagnosis/c4d/throttled_gpus.h"
#include "diagnosis/c4d/window_verdict.h"
#include "model/finding_proof.h"
#include "model/place_names.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

class StragglerDetector {
 public:
  // Args: layout, must outlive this; names: for texts.
  StragglerDetector(const model::JobLayout& layout, const SlowOptions& options, model::PlaceNames names = {});

  // Each operation once, in any order. Those with ranks that the layout does not know or impossible instants are left
  // out.
  void Add(const CompletedOperation& operation) { waits_.Add(operation); }
  void Add(const model::RankReport& report);
  void Add(const model::HostReport& report) { throttled_.Add(report); }
  // Nothing is timed from the rank's reports before to those that come. Args: rank of the layout.
  void BeginAnew(model::RankId rank);

  // Judges what is judged block by block, whatever the window. Returns: those that are slow by now, confirmed.
  std::vector<Suspect> JudgeBlocks(SimTime now);
  // A rank that is slower than other stages, as of then; where nobody does the same as another.
  std::optional<Suspect> JudgeStages() const;

  // Whether ranks are stages of pipelines: own time is less sure there, as waits for messages are mixed into it.
  bool HasStages() const;
  // Whether others were seen to wait for it in the window that was judged last, as far as that can be seen.
  bool IsWaitedFor(const Suspect& suspect) const { return verdict_.IsWaitedFor(suspect.culprits.front()); }
  // By which share iterations take longer than the first ones; nothing: not known yet.
  std::optional<double> Growth() const { return own_.watch().Growth(); }
  // Length of a block of iterations; 0: not known.
  double BlockSeconds() const { return own_.watch().BlockSeconds(); }
  // How long iterations took, and what these ranks did in them by themselves.
  std::vector<model::IterationBlock> BlocksOf(std::span<const model::RankId> ranks) const {
    return own_.watch().BlocksOf(ranks);
  }

  // Ends the window: judges what was added since the one before, and forgets it.
  // Returns: [rank] seconds by which it came late and made others wait; 0: it did not.
  std::vector<double> JudgeWindow();
  // The verdict of the window that was judged last. With a transport suspect no rank is late on its own, and nothing is
  // learned. Returns: at most three suspects, the worst first.
  std::vector<Suspect> TakeSuspects(bool has_transport_suspect);

 private:
  std::vector<uint32_t> FindStages() const;
  // Whether all exchange with all in the communicator.
  bool IsOfExchanges(model::CommunicatorId id) const { return waits_.HasExchanges(id) || arrivals_.IsOf(id); }
  StragglerWindow TakeWindow();
  // Whether what the blocks tell decides about it.
  bool IsDecidedByBlocks(const StragglerFigures& figures) const;

  PipelineStages stages_;
  CollectiveWaits waits_;
  OwnTimeWatch own_;
  ArrivalWatch arrivals_;
  ThrottledGpus throttled_;
  ReceivedLoad received_;
  WindowVerdict verdict_;
  StragglerSuspects suspects_;
};

}  // namespace fairlead::diagnosis::c4d
