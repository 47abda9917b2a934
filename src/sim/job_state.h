// One running job inside the simulator: its iteration broken into transfers, and how far it has come.
//
// The state outlives re-plans: a ContentionDomain borrows it, advances it, and hands it back at any instant.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "model/flow.h"
#include "model/path.h"
#include "sim/congestion_totals.h"
#include "sim/loss_cause.h"
#include "traffic/traffic_policy.h"

namespace fairlead::sim {

// How finely the network is modelled.
enum class Detail : uint8_t {
  kCoupled,  // flows of one group (a ring) are one variable over the multiset of their links
  kEdge,     // every flow is a separate variable
};

// Bytes moved by one fluid variable: one flow, or the lockstep flows of one group.
struct Transfer {
  uint32_t phase = 0;
  double bytes = 0;             // of each flow
  std::vector<uint32_t> flows;  // indices into Iteration::flows
};

// Integer clockwork of one iteration.
struct IterationClock {
  int64_t total_ns = 0;                  // compute time plus pipeline bubble
  double busy_fraction = 1;              // share of total_ns in which the GPUs compute
  std::vector<int64_t> start_ns;         // [phase] earliest start on the compute clock
  std::vector<uint8_t> blocks;           // [phase] compute waits for it
  std::vector<int64_t> latency_ns = {};  // [phase] from the end of its last transfer to its own
};

// Bytes that a job sends, in short bins; filled while watched.
struct TrafficWatch {
  SimTime from;
  int64_t bin_ns = 0;
  std::vector<uint8_t> counts_phase;  // [phase]
  std::vector<float> bytes;           // [bin] since `from`, as far as something was sent
};

// Work of one phase of communication done in each timeline bin, as a fraction of one run of the phase.
using PhaseActivity = std::vector<std::vector<float>>;  // [phase][bin]

// What an iteration takes alone: the yardstick of slowdowns and losses (solo_yardstick.h).
struct SoloReference {
  std::vector<int64_t> phase_ns;  // [phase]
  int64_t iteration_ns = 0;       // along the longest path through compute and phases
};

// Seen to hold up the running phase: `weight_s` are seconds at full delay.
struct DelayShare {
  LossCause cause = LossCause::kNotAttributed;
  JobId culprit;
  LinkId link;
  double weight_s = 0;
};

class QueuePairShares;

struct JobState {
  // Constant after Create, but for the bytes of transfers.
  JobId id;
  uint32_t num_gpus = 0;
  bool is_background = false;   // a message (background_traffic.h), of whose own delay there is no account
  uint64_t num_iterations = 0;  // 0 = no end
  const model::Iteration* iteration = nullptr;
  std::vector<Transfer> transfers;  // ordered by phase
  IterationClock clock;

  // Never longer than its paths so far would have allowed; empty where delay is not accounted.
  SoloReference solo;

  // In force until the next re-plan.
  std::vector<model::Path> paths;  // [flow]
  uint32_t level = 0;
  std::optional<traffic::TimeShift> time_shift;  // where iterations shall begin
  traffic::ShiftProgress shift_progress;
  traffic::SenderRules senders = {};  // between two plans
  // [transfer] when it last ended, nothing: it never sent; only where flows choose their paths, else empty.
  std::vector<std::optional<SimTime>> quiet_since = {};
  bool waits_for_shift = false;  // until iteration_start
  // [phase] its message waits so long, after its latency, until it is in order; empty: not at all.
  std::vector<int64_t> reorder_ns = {};
  SimTime last_iteration_start;  // of the iteration before the current one

  // How far the job has come.
  SimTime iteration_start;  // of the current iteration; in the future: the job has not begun
  int64_t progress_ns = 0;  // on the compute clock, 0 .. total_ns
  uint32_t phase = 0;       // running, or next to start
  bool is_phase_running = false;
  std::vector<double> remaining;  // [transfer] bytes left of each flow, for the running phase
  // When the running phase ends whose bytes are all sent; Never() while it sends.
  SimTime arrives_at = SimTime::Never();
  uint64_t iterations_done = 0;
  double iteration_carry = 0;  // iterations that extrapolation owes it, mostly part of one
  bool is_finished = false;
  SimTime finish_time;

  // Accounts.
  SimTime first_start;
  SimTime last_iteration_end;
  SimTime waits_recorded_until;  // of waits for a time shift
  SimTime observed_until;        // how far it has been simulated when its domain was last suspended
  uint64_t event_hash = 0;
  int64_t jumped_ns = 0;        // simulated time that fast-forward skipped
  double jump_error = 0;        // bound on the relative error of iterations_done caused by it
  CongestionTotals congestion;  // nothing where it is not modelled
  double open_work = 0;         // of the open iteration, once the job's account is closed
  bool is_cut_off = false;      // then: a transfer that it waits for has no path
  // Since the paths were last set:
  std::vector<uint64_t> phase_runs;          // [phase] completed
  std::vector<double> settled_bytes;         // [transfer] of the running phase, already counted under earlier paths
  std::vector<double> sent_before;           // [transfer] bytes each flow had sent when the paths were last set
  PhaseActivity activity;                    // when the phases ran
  SimTime activity_since;                    // start of the part of the running phase that `activity` has not seen
  double activity_counted = 0;               // fraction of the running phase that it has seen
  SimTime settled_at;                        // when the paths were last set
  TrafficWatch* watch = nullptr;             // the profiler of the job; outlives the observation
  QueuePairShares* shares = nullptr;         // the balancer of its queue pairs
  SimTime phase_start;                       // of the running phase
  int64_t solo_left_at_start_ns = 0;         // SoloNsLeft() then
  std::vector<DelayShare> delay_shares;      // of the running phase
  double gained_s = 0;                       // by phases that took less than alone, not yet set against losses
  SimTime stalled_since = SimTime::Never();  // its slowest transfer has not moved, nor has it computed, since
  std::vector<int64_t> phase_took_ns;        // [phase] the last run
  std::vector<double> part_bytes;  // [transfer] with which the running phase began; only where `shares` is set

  // Seconds of compute of each of its GPUs so far.
  double ComputeSeconds() const;
  // What they all do in that many seconds of compute.
  Flop FlopIn(double compute_s) const;
  // Of the running phase.
  int64_t ReorderNs() const { return reorder_ns.empty() ? 0 : reorder_ns[phase]; }
  // What phase p takes alone, but for its latency. Needs `solo`.
  int64_t SoloSendingNs(size_t p) const { return solo.phase_ns[p] - clock.latency_ns[p]; }
  // Nanoseconds that the job would need alone for the rest of its iteration. Needs `solo` and `remaining`.
  // Guarantees: falls by at most one per nanosecond, and by exactly one where the job is as fast as alone.
  int64_t SoloNsLeft(SimTime now) const;
  // The same for the rest of the running phase, which still sends.
  int64_t SoloNsLeftOfPhase() const;
  // Useful work: completed iterations plus the share of the open one, by the time that it takes alone. Needs `solo`
  // and `remaining`.
  double Work(SimTime now) const;
  // What the phase that runs, or has just ended, has cost the job so far, against the same time alone.
  int64_t PhaseLossNs(SimTime now) const;
  // Place in delay_shares; a new one has no weight yet.
  size_t DelayShareIndex(LossCause cause, JobId culprit, LinkId link);
  // Fraction of the running phase's bytes that are sent; 0 when none runs. Needs `remaining`.
  double PhaseFraction() const;
  // The same of the transfer that is least far: how far the phase is on its way to its end.
  double SlowestFraction() const;
  // Bytes each flow of `transfer` has sent since the paths were last set. Needs `remaining`.
  double CarriedBytes(size_t transfer) const;
  // The same since the job began.
  double SentBytes(size_t transfer) const { return sent_before[transfer] + CarriedBytes(transfer); }
  // From the next run of its phase on, each flow of `transfer` sends this much. Needs `remaining`, and the transfer's
  // bytes settled.
  void SetTransferBytes(size_t transfer, double bytes);
  // Keeps only the parts that are read of a job that has ended with all bytes settled: clock, progress, times.
  void ReleaseMemory();
};

// A job that begins its first iteration at `start` (its GPUs are held from then on).
// Checks that an iteration takes time: compute, bubble or bytes must be positive.
JobState CreateJobState(JobId id, uint32_t num_gpus, uint64_t num_iterations, const model::Iteration& iteration,
                        Detail detail, SimTime start, size_t num_bins);

}  // namespace fairlead::sim
