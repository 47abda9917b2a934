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
// Cost        O(operations) in all, O(ranks) per window.
// Guarantees  lateness that all share names none; one stall in a window names none.
// Differs     own time instead of the time inside collectives, and instead of walks along chains of waits: see
//             own_time.h.
// Reference   Dong et al., C4, HPCA 2025 (receiver-driven analysis); docs/spec/c4.md section 6.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/sim_time.h"
#include "diagnosis/c4d/arrival_waits.h"
#include "diagnosis/c4d/clock_offsets.h"
#include "diagnosis/c4d/completed_operation.h"
#include "diagnosis/c4d/own_time.h"
#include "diagnosis/c4d/pair_exchanges.h"
#include "diagnosis/c4d/slow_options.h"
#include "diagnosis/c4d/slow_rank_watch.h"
#include "diagnosis/c4d/suspect.h"
#include "diagnosis/c4d/wait_blame.h"
#include "model/place_names.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

class StragglerDetector : private OwnTime::Sink {
 public:
  // Args: layout, must outlive this; names: for texts.
  StragglerDetector(const model::JobLayout& layout, const SlowOptions& options, model::PlaceNames names = {});

  // Each operation once, in any order. Those with ranks that the layout does not know or impossible instants are left
  // out.
  void Add(const CompletedOperation& operation);
  void Add(const model::RankReport& report);
  void Add(const model::HostReport& report);
  // Nothing is timed from the rank's reports before to those that come. Args: rank of the layout.
  void BeginAnew(model::RankId rank);

  // Judges what is judged block by block, whatever the window. Returns: those that are slow by now, confirmed.
  std::vector<Suspect> JudgeBlocks(SimTime now);

  // Whether ranks are stages of pipelines: own time is less sure there, as waits for messages are mixed into it.
  bool HasStages() const;
  // Whether others were seen to wait for it in the window that was judged last, as far as that can be seen.
  bool IsWaitedFor(const Suspect& suspect) const { return !not_waited_for_.contains(suspect.culprits.front()); }
  const SlowRankWatch& watch() const { return watch_; }
  // How long iterations took, and what these ranks did in them by themselves.
  std::vector<model::IterationBlock> BlocksOf(std::span<const model::RankId> ranks) const {
    return watch_.BlocksOf(ranks);
  }

  // Ends the window: judges what was added since the one before, and forgets it.
  // Returns: [rank] seconds by which it came late and made others wait; 0: it did not.
  std::vector<double> JudgeWindow();
  // The verdict of the window that was judged last. With a transport suspect no rank is late on its own, and nothing is
  // learned. Returns: at most three suspects, the worst first.
  std::vector<Suspect> TakeSuspects(bool has_transport_suspect);

 private:
  // One signal of all ranks in one window.
  struct Signal {
    std::vector<double> excess;  // [rank] seconds beyond normal
    std::vector<bool> is_known;  // [rank]
    std::vector<bool> is_late;   // [rank]
  };
  // What is normal for a rank: means over `windows`.
  struct Baseline {
    uint32_t windows = 0;
    double own_per_output = 0;
    double idle_per_output = 0;
    double own_ratio = 0;    // own time over that of its stage, less 1
    double blame_share = 0;  // of the window
    double lag_share = 0;
  };
  struct Window {
    double seconds = 0;
    std::vector<OwnTime::OfRank> own;
    std::vector<double> own_ratio;    // [rank] over that of its stage, less 1; 0 where unknown
    std::vector<double> host_excess;  // [rank] of own time, before operations were enqueued
    std::vector<double> idle_excess;  // [rank] of the host thread's idle time, over its past and that of others
    WaitBlame::Blame blame;
    WaitBlame::Blame lag;
  };
  // Findings of a window, until they are reported.
  struct Verdict {
    Window window;
    bool is_healthy = false;
    std::vector<Suspect> suspects;
  };
  struct Candidate {
    std::vector<model::RankId> ranks;
    model::Culprit culprit;
    double share = 0;  // of all own time in excess
  };

  void OnOutput(size_t rank, const OwnTime::Output& output) override;
  void OnGap(size_t rank) override { watch_.blocks().Break(rank); }
  // What does not depend on how it was found.
  Suspect NameSlow(const SlowRank& slow) const;
  std::string SentenceOf(const Suspect& suspect) const;
  Suspect MakeSuspect(const SlowRank& slow) const;
  // Of one that what it receives waits for.
  Suspect MakeArrivalSuspect(const SlowRank& slow) const;
  bool IsThrottled(const SlowRank& slow) const;
  // Whether what the blocks tell decides about it.
  bool IsDecidedByBlocks(const Suspect& suspect) const;
  bool IsPlausible(const CompletedOperation& operation) const;
  Window TakeWindow();
  // [rank] ranks of equal number do equal work.
  std::vector<uint32_t> FindStages() const;
  bool HasOwn(const Window& window, size_t rank) const;
  Signal JudgeOwn(Window& window) const;
  bool HasIdleHost(const Window& window, const Candidate& candidate) const;
  Signal JudgeWaits(const WaitBlame::Blame& blame, double Baseline::*normal_share, double seconds) const;
  void MarkLate(Signal& signal, double seconds) const;
  // Lower median of the stage, per output; nothing: too few ranks in it.
  std::vector<std::optional<double>> StageReferences(const Window& window, const std::vector<uint32_t>& stages,
                                                     double OwnTime::OfRank::*field) const;
  bool HasBaseline(const Window& window, size_t rank) const;
  // [rank] seconds of a measure beyond its own past, less what it grew by for the median rank, unless enough ranks are
  // as ever; 0 where unknown.
  std::vector<double> ExcessOverPast(const Window& window, double OwnTime::OfRank::*field,
                                     double Baseline::*normal) const;
  void AddLateStages(const Window& window, Signal& own) const;
  void CompareWithOwnPast(const Window& window, std::vector<double>& ratio, const std::vector<bool>& is_alone) const;
  // The worst first.
  std::vector<Candidate> FindCandidates(const Window& window, const Signal& own) const;
  // Those of one host, given by its ranks, with their excess as their share.
  void AddCandidates(const Window& window, const Signal& own, const std::vector<model::RankId>& ranks,
                     std::vector<Candidate>& candidates) const;
  // Whether its host threads idle for longer than they used to.
  bool IsIdle(const Window& window, size_t rank) const;
  bool Agrees(const Signal& signal, const Candidate& candidate, double seconds) const;
  bool IsMostOfStage(const Candidate& candidate) const;
  bool HasAllReports(const Window& window, const Candidate& candidate) const;
  bool IsKnown(const Signal& signal, const Candidate& candidate) const;
  Suspect MakeSuspect(const Window& window, const Candidate& candidate, const Signal& own, const Signal& blame,
                      const Signal& lag, uint32_t num_agreeing) const;
  model::SubCause FindSubCause(const Window& window, const Candidate& candidate, const Signal& own) const;
  void LearnBaseline(const Window& window);

  const model::JobLayout& layout_;
  model::PlaceNames names_;
  SlowOptions options_;
  ClockOffsets offsets_;
  OwnTime own_time_;
  WaitBlame blame_;
  WaitBlame lag_;
  PairExchanges exchanges_;
  SlowRankWatch watch_;
  ArrivalWaits arrival_waits_;
  SlowRankWatch arrival_watch_;
  std::vector<bool> has_pairs_;      // [communicator] sends and receives were seen on it
  std::vector<Baseline> baselines_;  // [rank]
  Verdict verdict_;
  std::set<std::pair<HostId, uint32_t>> throttled_;  // (host, GPU), of the window
  std::set<std::pair<HostId, uint32_t>> ever_throttled_;
  std::set<model::Culprit> not_waited_for_;
  std::vector<double> arrivals_;  // scratch
};

}  // namespace fairlead::diagnosis::c4d
