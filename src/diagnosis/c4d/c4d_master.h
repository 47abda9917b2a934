// The C4D master of one job: takes telemetry, and says what is broken once it is sure.
//
//     telemetry --> Handle() --+--> job_picture --+--> death_watch, hang_rule, mismatch_check -> finding_tracker -> out
//       (or none: a tick)      |                  +--> completed operations --+                       |
//                              +--> reports ------------> slow detectors <----+-- windows ------------+
//
// A state machine without thread, socket, clock or disk. Its time is that of its caller; clocks of hosts may be off.
//
// Method      persistent suspects (gone, hanging, disagreeing) are looked for in each call, suspects of slowness at the
//             end of each window. Which of them become findings:
//               dead          immediately, and nothing else meanwhile: other stalls are its consequence
//               mismatch      when it lasts for a report period, so that a rank may contradict itself
//               hang          one at a time, when the same verdict lasts for `hang.confirm_for`
//               unreachable   when the host stays away for `silence.confirm_for` and the job goes on
//               slow          ranks by the evidence of iterations (slow_rank_watch.h); the rest by windows, of which
//                             those in which the job was stalled do not count (finding_tracker.h)
//             A death after a confirmed hang is how the job ends (watchdogs), unless a hardware error or the hang's own
//             culprit died. A finding that explains open ones takes them as its symptoms.
//
// What it consists of, each with a state of its own; none knows the whole:
//
//     job_picture       what ranks have told               mismatch_check    who contradicts whom
//     finding_tracker   what was found                     finding_proofs    what it was made from
//     slow_detectors    what is slow                       slowness_window   when that is judged, and counts
//     known_pauses      who was waited for before          own_silence       whether the master itself was away
//
// Cost        a call: linear in its records, plus O(hosts + communicators) while all is well; see
//             BM_Tick in c4d_bench.cc. Memory: job_picture.h.
// Guarantees  same calls, same findings. Nothing is found about jobs that are idle, announced to be away, or leaving.
// Limits      one hang at a time: a second one shows when the first has been mended.
// Reference   Dong et al., C4, HPCA 2025; docs/spec/c4.md sections 4 to 7.2.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/sim_time.h"
#include "diagnosis/c4d/c4d_options.h"
#include "diagnosis/c4d/finding_proofs.h"
#include "diagnosis/c4d/finding_tracker.h"
#include "diagnosis/c4d/hang_rule.h"
#include "diagnosis/c4d/job_picture.h"
#include "diagnosis/c4d/known_pauses.h"
#include "diagnosis/c4d/mismatch_check.h"
#include "diagnosis/c4d/own_silence.h"
#include "diagnosis/c4d/slowness_window.h"
#include "diagnosis/c4d/suspect.h"
#include "model/finding.h"
#include "model/finding_proof.h"
#include "model/place_names.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

class SlowDetectors;

struct C4dCounters {
  uint64_t layouts = 0;
  uint64_t rejected_layouts = 0;
  uint64_t early_records = 0;  // before any layout
  uint64_t windows = 0;        // of slowness that counted
  uint64_t idle_windows = 0;   // in which too little ran, or the job was stalled

  friend bool operator==(const C4dCounters&, const C4dCounters&) = default;
};

class C4dMaster {
 public:
  // Args: options valid; names: for texts.
  explicit C4dMaster(const C4dOptions& options, model::PlaceNames names = {});
  ~C4dMaster();
  C4dMaster(const C4dMaster&) = delete;
  C4dMaster& operator=(const C4dMaster&) = delete;

  // Takes what has arrived since the call before; an empty call is a tick. There should be one a second.
  // Args: now does not run backwards. Returns findings opened and changed, in order.
  std::vector<C4dAction> Handle(SimTime now, std::span<const model::TelemetryRecord> records);

  // As JobDiagnosis::NoteAnswer().
  void NoteAnswer(SimTime now, HostId host) {
    if (picture_) picture_->NoteAnswer(now, host);
  }

  // Nothing is suspected until then: announced maintenance, a checkpoint that takes long. Replaces what was announced.
  void ExcuseUntil(SimTime time) { excused_until_ = time; }

  // What the present picture says when times are left aside: for dumps made after the fact. Changes nothing.
  std::vector<model::Finding> AnalyzeNow();

  // All findings of this job, by id.
  const std::vector<model::Finding>& findings() const;
  // What the finding was made from, with the job's iterations until now. Nothing: it is of an earlier layout.
  std::optional<model::FindingProof> ProofOf(model::FindingId id) const;
  // As JobDiagnosis::HasCrashed().
  bool HasCrashed(SimTime now) const;
  // Nothing before the first layout.
  const JobPicture* picture() const { return picture_ ? &*picture_ : nullptr; }
  const C4dCounters& counters() const { return counters_; }
  // Why the latest rejected layout was.
  const std::string& last_error() const { return last_error_; }

 private:
  void Take(SimTime now, const model::TelemetryRecord& record);
  void TakeLayout(SimTime now, const model::JobLayout& layout);
  bool IsRestart(const model::JobLayout& layout) const;
  WaitGraphQuery QueryAt(SimTime now, bool has_clock) const;
  std::vector<Suspect> FindStalled(SimTime now);
  void JudgeStalled(SimTime now);
  void JudgeHang(const Suspect& suspect, SimTime now);
  bool IsAftermath(const Suspect& dead) const;
  SimDuration PatienceWithDeath(const Suspect& dead) const;
  void ReplaceDeath(const Suspect& suspect, SimTime now);
  void JudgeBlocks(SimTime now);
  // [communicator] operations until now.
  std::vector<uint64_t> NumCompleted() const;
  void EndWindowIfDue(SimTime now);
  void HoldWindow(const std::vector<Suspect>& suspects, SimTime now);
  void ClearGone(SimTime now);
  // The host that was taken for dead, as nothing came from it, has reported since.
  bool IsHeardAgain(const model::Finding& dead) const;
  bool HasOpen(bool (*is_kind)(model::Syndrome)) const;
  model::FindingProof MakeProof(const model::Finding& finding, SimTime now) const;
  std::vector<model::RankId> AccusedRanks(const model::Finding& finding) const;
  std::vector<model::FindingId> ExplainedBy(const Suspect& suspect) const;

  C4dOptions options_;
  model::PlaceNames names_;
  C4dCounters counters_;
  std::string last_error_;
  SimTime excused_until_;
  OwnSilence own_silence_;
  std::optional<FindingTracker> tracker_;
  // Of the present layout, until another one comes.
  std::optional<JobPicture> picture_;
  MismatchCheck mismatch_check_;
  std::unique_ptr<SlowDetectors> slow_;
  SlownessWindow window_;
  KnownPauses pauses_;
  FindingProofs proofs_;  // without blocks
};

}  // namespace fairlead::diagnosis::c4d
