// The interface of allocation policies: how many GPUs and CPU cores each job gets, on which nodes, and in which order.
//
// A policy is a pure function of an immutable snapshot. What it has to remember between two calls (queues, times of
// changes) is in the snapshot; the plan gives the new values, and the caller keeps them. (A *placement* policy, in
// placement_policy.h, chooses the GPUs of one job of fixed size.)
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "base/status.h"
#include "scheduling/unit_operations.h"

namespace fairlead::scheduling {

// What the jobs of the snapshot may use of a node; 0 and 0 when it is down or drained.
struct NodeCapacity {
  uint32_t num_gpus = 0;
  uint32_t num_cores = 0;
  uint32_t gpu_type = 0;  // index into AllocationJob::type_speeds

  friend bool operator==(const NodeCapacity&, const NodeCapacity&) = default;
};

// A job's part of one node.
struct NodeShare {
  HostId node;
  uint32_t num_gpus = 0;
  uint32_t num_cores = 0;

  friend bool operator==(const NodeShare&, const NodeShare&) = default;
};

// GPUs and cores, as a demand or as what is free.
struct Resources {
  uint64_t num_gpus = 0;
  uint64_t num_cores = 0;

  bool empty() const { return num_gpus == 0 && num_cores == 0; }
  bool Fits(const Resources& room) const { return num_gpus <= room.num_gpus && num_cores <= room.num_cores; }
  friend bool operator==(const Resources&, const Resources&) = default;
  friend Resources operator+(Resources a, const Resources& b) {
    return {a.num_gpus + b.num_gpus, a.num_cores + b.num_cores};
  }
  // Requires b.Fits(a).
  friend Resources operator-(Resources a, const Resources& b) {
    return {a.num_gpus - b.num_gpus, a.num_cores - b.num_cores};
  }
};

// One size that a job may run at.
struct JobSize {
  uint32_t num_gpus = 0;
  uint32_t num_cores = 0;
  double iteration_s = 0;  // in the densest placement; 0 = unknown

  Resources resources() const { return {num_gpus, num_cores}; }
};

// How resources are added up: R = gpu * GPUs + core * cores. Raising `core` makes CPU jobs look larger.
struct ResourceUnits {
  double gpu = 1;
  double core = 0;

  double Of(const Resources& r) const {
    return gpu * static_cast<double>(r.num_gpus) + core * static_cast<double>(r.num_cores);
  }
};

// A job made of parameter servers and workers. Its sizes are configurations, of which AllocationJob::sizes may list
// some.
struct PsWorkerJob {
  PsWorkerConfig config;  // in force, or asked for while it waits
  PsWorkerLimits limits;
  std::function<double(const PsWorkerConfig&)> iteration_s;
};

// Under which terms a running job was started.
enum class StartKind : uint8_t {
  kUsual,
  kAged,        // had waited for too long: it may run for a while, whatever comes
  kBackfilled,  // uses what a job that has waited for too long can't use yet, and gives it back at once
};

// How far a job would be, had it run alone on its part of the cluster.
struct IsolatedProgress {
  double done_s = 0;     // that its iterations until the last round would have taken
  double remaining = 0;  // iterations, at the last round
  double speed = 0;      // iterations/s, at the last round; 0 = there was none

  friend bool operator==(const IsolatedProgress&, const IsolatedProgress&) = default;
};

// What a policy remembers about a job. The caller stores what the plan says and hands it back; a new job has the
// defaults.
struct JobMemory {
  uint32_t queue = 0;                    // of a multi-level queue, 0 = served first
  SimTime queue_since;                   // when it entered this queue
  uint64_t queue_order = 0;              // among those that entered it at the same time
  bool stopped_by_policy = false;        // waits, as a plan took all that it had; not since its nodes failed
  StartKind start = StartKind::kUsual;   // of a running job
  double score = 0;                      // accumulated over rounds
  std::optional<uint32_t> size;          // [sizes] that it is to run at, where a policy changes it in small moves
  std::optional<PsWorkerConfig> config;  // the same for a job of parameter servers and workers
  std::vector<double> rounds_on_type;    // [gpu_type] rounds received since shares of time were solved
  std::vector<double> type_shares;       // [gpu_type] share of time
  IsolatedProgress isolated;

  friend bool operator==(const JobMemory&, const JobMemory&) = default;
};

// Instants further away than that are not predicted: the clock ends at 9e9 s.
inline constexpr double kFarAwayS = 9e8;

struct AllocationJob {
  JobId id;
  SimTime submission;
  // Sizes at which it may run, ascending in GPUs and in cores. Never empty; the first is its minimum, the last its
  // maximum. Borrowed: must outlive the snapshot.
  std::span<const JobSize> sizes;
  uint32_t requested = 0;  // [sizes] what its owner asked for

  std::vector<NodeShare> current;  // where it runs, in order; empty while it waits
  double attained_service = 0;     // resource units x seconds, restarts included
  double executed_s = 0;           // time with resources
  SimTime waiting_since;           // submission, or when it was last stopped; while it runs: of no meaning
  SimTime running_since;           // when it last began to run after waiting; while it waits: of no meaning
  SimTime resized_at;              // when its allocation last changed
  uint32_t num_restarts = 0;
  double restart_cost_s = 0;  // what a change of its allocation costs

  bool is_predictable = false;
  double remaining_iterations = 0;  // meaningful where predictable
  // Standard deviation of ln(true / predicted) of its remaining time, as far as known; for intervals, not decisions.
  double prediction_error = 0;

  std::string_view tenant;              // whose it is (tenant_shares.h); borrowed
  double weight = 1;                    // share that it is entitled to, relative to others
  std::span<const double> type_speeds;  // [gpu_type] iterations/s at the requested size; empty = all types are equal
  // [gpu_type][sizes] useful iterations/s in the densest placement, as far as models of the job say; 0 = unknown.
  // Empty: no such models.
  std::span<const std::vector<double>> type_goodput = {};
  bool is_restarting = false;       // holds its resources, but does not train yet
  std::span<const double> goodput;  // [sizes] useful iterations/s with the best batch; empty = 1 / iteration_s
  const PsWorkerJob* ps_worker = nullptr;
  JobMemory memory;

  bool is_running() const { return !current.empty(); }
  // It runs in configurations of parameter servers and workersof known speeds.
  bool has_configs() const { return ps_worker != nullptr && ps_worker->iteration_s; }
};

// Why the policy is asked now.
enum class Trigger : uint8_t {
  kRound,      // its own wake-up time
  kArrival,    // jobs came
  kDeparture,  // jobs ended
  kFlip,       // a job became predictable, or ceased to be
  kNodes,      // nodes came or went
};

struct ClusterMemory {
  std::optional<SimTime> last_round;  // when resources were last changed by a regular round
  uint64_t shared_jobs = 0;           // tells for which jobs shares of time were solved; 0 = none were
  std::map<std::string, ClusterMemory, std::less<>> of_tenants;  // where each has a share of its own

  friend bool operator==(const ClusterMemory&, const ClusterMemory&) = default;
};

struct AllocationSnapshot {
  SimTime now;
  Trigger trigger = Trigger::kRound;
  IdVector<HostId, NodeCapacity> nodes;
  std::vector<AllocationJob> jobs;  // submitted and not ended, in any order
  // Executed time times requested GPUs of each job that has ended, GPU-seconds, in any order. Borrowed: must outlive
  // the snapshot. Empty where nobody remembers them.
  std::span<const double> ended_service;
  ResourceUnits units;
  ClusterMemory memory;
};

// What happens to a job.
enum class Change : uint8_t {
  kKept,     // runs on, untouched
  kStarted,  // waited and runs now
  kResized,  // another size
  kMoved,    // same size, other nodes
  kStopped,  // ran and waits now
  kPending,  // waits on
};

// Why a job gets nothing.
enum class PendingCause : uint8_t {
  kNone,       // it runs
  kTooLarge,   // no size of it fits into the whole cluster
  kNoGpus,     // those before it in the order took the GPUs
  kNoCores,    // those before it in the order took the cores
  kBehind,     // an earlier job has to start first (strict order)
  kScattered,  // enough in total, but no node has GPUs and cores together
};

// Why, as data: the CLI prints it, tests check it. Positions count from 1.
struct JobReason {
  Change change = Change::kPending;
  PendingCause cause = PendingCause::kNone;
  uint32_t order = 0;                          // place in the order of service
  std::optional<uint32_t> service_position;    // on the ballot by attained service
  std::optional<uint32_t> remaining_position;  // on the ballot by remaining service, or by gain
  double score = 0;                            // what the order compares, where it is a number
  uint32_t queue = 0;
  bool was_promoted = false;               // goes first as it has waited long
  bool was_held = false;                   // wanted another size, but changes were not worth it or too frequent
  std::vector<OperationGain> gains;        // unit operations that were weighed
  std::optional<UnitOperation> applied;    // the one that was carried out
  std::optional<SimTime> expected_start;   // of a pending job, from the expected ends of others; a lower bound
  std::optional<SimTime> expected_finish;  // of a predictable job that runs
};

struct JobGrant {
  Resources resources;                   // empty = does not run
  std::vector<NodeShare> nodes;          // in order; sums to `resources`
  std::optional<PsWorkerConfig> config;  // of a job of parameter servers and workers that runs
  JobReason reason;
  JobMemory memory;
};

struct AllocationPlan {
  std::vector<JobGrant> jobs;  // [snapshot.jobs]
  ClusterMemory memory;
  SimTime next_wake_up = SimTime::Never();  // call again then, even if nothing happens
};

// Errors: kInvalidArgument with the job or node and what is wrong: duplicate id, no sizes or not ascending, requested
// size outside, negative or non-finite numbers, allocation on an unknown node. Jobs that hold more than their nodes
// have (a node was lost) are no error: they are placed again, or stopped.
Status ValidateSnapshot(const AllocationSnapshot& snapshot);

class AllocationPolicy {
 public:
  virtual ~AllocationPolicy() = default;
  // The name users type: "aiturbo", "fcfs".
  virtual std::string_view name() const = 0;
  // Errors: those of ValidateSnapshot. A job that can't run is no error: the reason says so.
  // Guarantees: per node and resource the grants fit; granted resources are one of the job's sizes (or a configuration
  // within its limits); same snapshot, same plan. Thread: safe.
  Result<AllocationPlan> Decide(const AllocationSnapshot& snapshot) const {
    FL_RETURN_IF_ERROR(ValidateSnapshot(snapshot));
    return Plan(snapshot);
  }

 private:
  // `snapshot` is valid.
  virtual AllocationPlan Plan(const AllocationSnapshot& snapshot) const = 0;
};

}  // namespace fairlead::scheduling
