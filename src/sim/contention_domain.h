// Jobs that can influence each other, simulated together between two outside events (arrival, departure, failure,
// re-plan).
//
// A domain borrows the states of its jobs, puts their transfers on one fluid network and simulates compute and
// communication phases in integer nanoseconds. It stops at a time limit or at the first instant at which a job
// finishes. Where the jobs repeat themselves it jumps whole periods ahead (period_detector.h).
//
//   job:  compute clock 0 ---- start of phase 0 ---- start of phase 1 ---- total
//         phase p starts when the clock has reached its start and phase p-1 is over; a blocking phase stops the clock
//         the iteration ends when the clock has reached the total and all phases are over
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "fluid/flow_network.h"
#include "sim/congestion_loss.h"
#include "sim/delay_account.h"
#include "sim/job_state.h"
#include "sim/link_sharing.h"
#include "sim/period_detector.h"
#include "sim/rate_window.h"
#include "sim/run_recording.h"
#include "sim/run_watch.h"
#include "sim/timeline.h"

namespace fairlead::sim {

struct DomainOptions {
  bool fast_forward = true;
  // Beside exact periods, go on at mean speeds once these have settled; needs fast_forward.
  bool extrapolate = false;
  // Keeps the account of delay. Needs the jobs' `solo` and healthy_capacities.
  bool follows_delays = false;
  // [link] bytes/s of payload when nothing is broken; outlives the domain.
  const IdVector<LinkId, double>* healthy_capacities = nullptr;
  // Full links lose what congestion control leaves unused (congestion_loss.h). Null: they lose nothing. Outlives the
  // domain.
  CongestionPoints* congestion = nullptr;
  // Learns what jobs do in its window, where nothing is skipped. Null: nobody asks. Outlives the domain.
  RunRecorder* recorder = nullptr;
};

class ContentionDomain {
 public:
  // `jobs` in id order, `routes[j][t]` for jobs[j]->transfers[t]. `busy` gets busy GPU-seconds. All outlive the domain.
  ContentionDomain(std::vector<JobState*> jobs, const std::vector<const std::vector<TransferRoute>*>& routes,
                   const LinkSharing& sharing, const IdVector<LinkId, double>& capacities, SimTime start,
                   const DomainOptions& options, BinnedSum* busy);

  // Simulates every event up to and including `limit`, but not past the first instant at which a job finishes, nor
  // further when `watch` stops it: then now() < limit is possible.
  void AdvanceTo(SimTime limit, RunWatch& watch);

  // Ends the simulation here and writes the jobs' states back. The domain can't be used after that.
  void Suspend();

  SimTime now() const { return SimTime(local_now_ns_ + offset_ns_); }
  bool has_finished_job() const { return has_finished_job_; }
  // No job of this domain finishes before; Never() when none has an end. Others are simulated up to this instant, so
  // that later skips respect it, too.
  SimTime FinishLowerBound();
  const DelayAccount& delays() const { return delays_; }
  // False when the jobs' levels have changed in a way that changes precedence here.
  bool LevelsAreInForce() const { return LocalLevels() == levels_; }
  std::span<JobState* const> jobs() const { return jobs_; }

 private:
  // Transfers of one phase with the same contended links, top rate and bytes: one fluid flow.
  struct Variable {
    uint32_t job = 0;
    uint32_t phase = 0;
    fluid::FlowId flow{};
    double bytes = 0;     // of each transfer
    double top_rate = 0;  // of each transfer
    std::vector<uint32_t> transfers;
    uint32_t parts = 1;  // TransferRoute::parts
    // The fluid flow is that many times as fast, wide and heavy as one transfer: their number, or what of it each of the
    // parts is that multiplicities count.
    double width = 1;
    LinkId tightest;             // of its own links: its bound without other jobs; invalid: it has no path
    double tightest_health = 1;  // remaining share of that link's capacity, 0..1
  };
  // What holds up the running phase of a job at present rates.
  struct DelayView {
    bool is_stale = true;
    std::optional<int64_t> seen_at_ns;              // local
    int64_t recorded_until_ns = 0;                  // local
    std::optional<size_t> bound;                    // place in the account's bounds
    std::vector<std::pair<size_t, double>> shares;  // place in the job's delay_shares, seconds lost there per second

    void ForNewPhase(int64_t local_ns) {
      is_stale = true;
      seen_at_ns.reset();
      recorded_until_ns = local_ns;
      bound.reset();
      shares.clear();
    }
  };
  // What of a job only this domain needs.
  struct Runtime {
    int64_t timer_ns = 0;  // local; INT64_MAX: none
    int64_t computing_since_ns = 0;
    bool is_computing = false;
    bool has_begun = false;
    bool began_before = false;  // the current iteration is older than the domain, and knew other rates
    uint32_t num_active = 0;    // variables of the running phase still sending
    int64_t least_iteration_ns = 0;
    DelayView delay;
    std::vector<uint32_t> first_variable;  // [phase], one more at the end
  };
  struct Counters {
    std::vector<uint64_t> iterations;               // [job]
    std::vector<uint64_t> phase_runs;               // [job][phase], flat
    std::vector<LostTime> losses;                   // [place in the account]
    std::vector<double> bounds;                     // [place in the account]
    std::vector<std::vector<double>> delay_shares;  // [job][share] of the running phase
    std::vector<CongestionTotals> congestion;       // [job]; empty where it is not modelled
  };
  struct LinkUser {
    uint32_t variable = 0;
    uint32_t multiplicity = 0;
  };

  // The fluid network while it is put together.
  struct NetworkDraft {
    std::vector<double> capacities;                 // [local link]
    std::vector<std::vector<fluid::LinkUse>> uses;  // [variable]
    std::map<LinkId, uint32_t> local_of;            // contended links
  };

  std::vector<uint32_t> LocalLevels() const;
  void BuildNetwork(const std::vector<const std::vector<TransferRoute>*>& routes, const LinkSharing& sharing,
                    const IdVector<LinkId, double>& capacities);
  void AddVariablesOf(uint32_t j, const std::vector<TransferRoute>& routes, const LinkSharing& sharing,
                      const IdVector<LinkId, double>& capacities, NetworkDraft* draft);
  std::vector<fluid::LinkUse> AddLinkUses(std::span<const TransferLink> contended, const TransferRoute& route,
                                          const IdVector<LinkId, double>& capacities, NetworkDraft* draft);
  void MergeEqualLinks(NetworkDraft* draft);
  void WatchCongestion(std::vector<std::vector<fluid::LinkUse>> uses);
  void ComputeLeastIterations();
  int64_t LeastIterationNs(uint32_t j) const;
  int64_t FinishBoundNs(uint32_t j, int64_t next_event_ns) const;
  void Resume();

  bool IsWatched() const;
  void RecordTraffic(int64_t until_ns);

  // In domain_recording.cc.
  bool IsRecorded() const;
  std::vector<TransferLink> RecordedLinksOf(const TransferRoute& route) const;
  int64_t JumpLimitNs(int64_t limit_ns) const;
  void RecordLoads();
  void EndLoads();
  void RecordActivity(uint32_t j, Activity activity, SimTime from);
  void RecordHeldUp(uint32_t j, int64_t from_ns);

  int64_t NextEventNs();
  void ApplyEventsAt(int64_t local_ns);
  void StepJob(uint32_t j);
  void RecordParts(const Variable& variable);
  void StartPhase(uint32_t j);
  void EndPhase(uint32_t j);
  void EndIteration(uint32_t j);
  bool WaitForShift(uint32_t j);
  void SyncComputeClock(uint32_t j);
  void SetTimer(uint32_t j);

  // In domain_delays.cc.
  void FollowDelaysUntil(int64_t local_ns);
  void WatchLinks();
  void RecordView(uint32_t j);
  void AttributeViews();
  void LookAtDelayOf(uint32_t j);
  const Variable* FindSlowest(uint32_t j);
  void ShareDelay(uint32_t j, const Variable& slowest, uint32_t local_link, double delay);
  void ShareOwnDelay(uint32_t j, const Variable& slowest, double delay);
  void AddShare(uint32_t j, LossCause cause, JobId culprit, LinkId link, double delay);
  double SoloRate(const Variable& variable) const;
  void RecordPhase(uint32_t j);
  void AttributeWaitForShift(uint32_t j);

  // In domain_fast_forward.cc.
  void TryFastForward(int64_t limit_ns);
  bool TryJumpPeriods(int64_t limit_ns);
  void TryExtrapolate(int64_t limit_ns);
  int64_t LengthToExtrapolate(int64_t limit_ns) const;
  DomainSnapshot TakeSnapshot() const;
  Counters TakeCounters() const;
  int64_t PeriodsThatFit(const Period& period, const Counters& then, int64_t limit_ns) const;
  int64_t FinishSlackNs(uint32_t j) const;
  uint64_t WholeIterations(uint32_t j, double owed, int64_t length_ns) const;
  void Jump(const Period& period, const Counters& then, int64_t num_periods);
  // `times` times the change since `then`.
  Counters CountMore(const Counters& then, uint64_t times) const;
  void JumpJob(uint32_t j, uint64_t iterations_more, std::span<const uint64_t> phase_runs_more, SimDuration skipped,
               double error_ns);
  void ScaleLosses(std::span<const uint64_t> iterations, SimDuration skipped, std::vector<LostTime>* losses) const;
  void MoveClockOf(JobState& job, SimDuration skipped) const;

  SimTime Global(int64_t local_ns) const { return SimTime(local_ns + offset_ns_); }

  std::vector<JobState*> jobs_;
  std::vector<Runtime> runtimes_;  // [job]
  std::vector<uint32_t> levels_;   // [job] in the network
  std::vector<Variable> variables_;
  std::vector<uint32_t> variable_of_flow_;
  std::vector<LinkId> links_;                      // [local link] valid for contended links
  std::vector<double> link_capacities_;            // [local link] of contended links, bytes/s
  std::vector<std::vector<LinkUser>> link_users_;  // [local link]
  std::unique_ptr<fluid::FlowNetwork> network_;
  BinnedSum* busy_;
  DomainOptions options_;

  bool is_watched_ = false;  // a job is being profiled: every event is simulated

  SimTime start_;
  int64_t local_now_ns_ = 0;        // the network's clock
  int64_t offset_ns_ = 0;           // simulated time = local + offset; jumping only moves the offset
  int64_t promised_finish_ns_ = 0;  // the latest that FinishLowerBound() has returned
  bool has_finished_job_ = false;
  std::vector<uint32_t> due_;  // jobs to step at the current instant
  std::vector<fluid::FlowId> completed_;

  std::vector<std::vector<TransferLink>> recorded_links_;  // [variable] of the network; empty: nothing is recorded

  std::unique_ptr<CongestionLoss> congestion_;  // null: links lose nothing

  DelayAccount delays_;

  uint32_t anchor_ = 0;  // job with the longest iteration
  bool anchor_ended_iteration_ = false;
  PeriodDetector detector_;
  std::deque<Counters> counters_;  // beside the detector's history
  RateWindow rate_window_;
  std::optional<SettledRates> settled_rates_;
};

}  // namespace fairlead::sim
