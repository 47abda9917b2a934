// The decision core: a state machine from events (job submitted, job finished, job profiled, link health changed) to
// actions (start a job, stop it, profile it, set its paths and level).
//
// It knows no thread, socket, clock or disk: the simulator drives it in virtual time, a service shell would drive it
// live. Without an allocation policy jobs start in arrival order (first come, first served, no overtaking) as soon as
// the placement policy finds room; where their workers may migrate (worker_migration.h), running ones then change
// hosts. A traffic policy may want to choose among several placements that are as good to the placement policy
// (TrafficPolicy::NumPlacements). An allocation policy decides instead which jobs run, at which size and on which hosts
// (job_allocator.h): a job that is resized or moved is stopped and started again. Every batch of events ends in one
// re-plan of all running jobs by the traffic policy; only differences become actions. Where jobs came or went that
// never leave NVLink no other job is planned again (a promise of every policy: docs/internals/modules/traffic.md).
//
//     events --> Handle() --> state --> PolicyPlanner --> plan -- PlanInForce --> actions
//
//     job_queue, job_allocator    which jobs run: one of the two      profiling_turns   whose counters are read
//     policy_planner              fabric as it is, policy, plan       plan_in_force     what a job was told
//     worker_migration            which workers change hosts
//
// Size        its members are those parts, what they are made from, and counters.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "base/status.h"
#include "controller/job_allocator.h"
#include "controller/job_queue.h"
#include "controller/plan_in_force.h"
#include "controller/policy_planner.h"
#include "controller/profiling_turns.h"
#include "controller/worker_migration.h"
#include "model/flow.h"
#include "model/job.h"
#include "model/measured_profile.h"
#include "model/path.h"
#include "scheduling/placement_policy.h"
#include "topology/router.h"
#include "traffic/placement_choice.h"
#include "traffic/traffic_policy.h"

namespace fairlead::controller {

// Events.
struct JobSubmitted {
  model::Job job;
};
struct JobFinished {
  JobId job;
};
// Its processes have ended, or were ended, before it was finished: it waits for GPUs again. Matters to allocation
// policies only.
struct JobFailed {
  JobId job;
};
struct LinkHealthChanged {
  LinkId link;
  double health = 1;  // fraction of the capacity that is left; 0 = down
};
// The hosts of a job have finished a profiling window.
struct JobProfiled {
  JobId job;
  model::MeasuredProfile profile;
};
// How fast a job ran lately, as a fraction of its speed alone, and for how long it has been starved without a break
// (traffic::kStarvedBelow).
struct JobSpeedMeasured {
  JobId job;
  double relative_speed = 1;
  Seconds starved_for;
};
// The state of the workers that MigrateJob moved is where they are now.
struct JobMigrated {
  JobId job;
};
// The time has come that next_wake_up() named.
struct WakeUp {};
// HostStateChanged (job_allocator.h) matters to allocation policies only: jobs of fixed size are not moved.
using Event = std::variant<JobSubmitted, JobFinished, JobFailed, LinkHealthChanged, JobProfiled, JobSpeedMeasured,
                           JobProgressed, HostStateChanged, JobMigrated, WakeUp>;

// Actions. All are idempotent. Of a job that ran before: it resumes where it was stopped.
struct StartJob {
  JobId job;
  model::Placement placement;
  std::string reason;  // empty without an allocation policy
};
// Save its state and give its GPUs back. A StartJob with others may follow at once.
struct SuspendJob {
  JobId job;
  std::string reason;
};
// Some of its workers change hosts: it stops at once, and has other GPUs. Its iteration is the transfer of their state
// until JobMigrated. Where there is nothing to transfer ResumeJob follows at once.
struct MigrateJob {
  JobId job;
  model::Placement placement;
  uint32_t num_moved_gpus = 0;
  std::string reason;
};
// It trains again, in so long, from the iteration on that it was in.
struct ResumeJob {
  JobId job;
  SimDuration after;
};
struct SetTraffic {
  JobId job;
  std::vector<model::Path> paths;  // [flow of the job's iteration]
  uint32_t level = 0;
  uint32_t priority_rank = 0;
  std::optional<traffic::TimeShift> time_shift;
  bool balances_shares = false;  // queue pairs of a connection shift bytes among themselves
  traffic::SenderRules senders = {};
  std::string reason;
};
// The job has the top level to itself until JobProfiled: watch its counters.
struct StartProfiling {
  JobId job;
};
// The job can never run here.
struct RejectJob {
  JobId job;
  std::string reason;
};
using Action = std::variant<StartJob, SuspendJob, MigrateJob, ResumeJob, SetTraffic, StartProfiling, RejectJob>;

// What one training iteration of a placed job looks like: from its model profile in the simulator, measured on real
// clusters.
using IterationProvider = std::function<Result<model::Iteration>(const model::Job&, const model::Placement&)>;

struct ControllerOptions {
  // Priority levels that the fabric offers to jobs. Range 1..64. More levels lose less of the ideal order; hardware
  // has 8.
  uint32_t num_levels = 8;
  // Seed of the switches' ECMP hashes: the luck of collisions.
  uint64_t hash_seed = 1;
  // Seed of policies that sample.
  uint64_t random_seed = 1;
  // Policies see a job only when it has been profiled: it gets the top level, which no other job uses then, for a
  // window in which its counters are read (Crux section 5). Jobs that arrive together are profiled one after the other;
  // until its turn a job has hashed paths and the last level. Off: the iteration provider is trusted.
  bool profile_jobs = false;
  // Hosts that no job gets, ascending. Not with an allocation policy.
  std::vector<HostId> reserved_hosts = {};
  AllocationOptions allocation;
  // Not beside an allocation policy, which moves jobs itself, nor `profile_jobs`.
  MigrationOptions migration;
  // Told where each job is placed, before workers migrate; null: nobody is. Not with an allocation policy.
  std::function<void(JobId, const model::Placement&)> placement_observer;
};

// Changes that re-plans have made to running jobs since the start: the cost of control.
struct ControlCounters {
  uint64_t plans = 0;
  uint64_t path_changes = 0;   // flows of running jobs that moved
  uint64_t level_changes = 0;  // running jobs that changed level
};

class ClusterController {
 public:
  // The references must outlive the controller.
  ClusterController(const topology::Fabric& fabric, const scheduling::PlacementPolicy& placement,
                    const traffic::TrafficPolicy& traffic, IterationProvider iterations, ControllerOptions options);

  // Handles events of one instant together: all state changes first, then queued jobs start, then one re-plan. Jobs
  // that are unknown or already finished, and those submitted again while they wait or run, are ignored (late and
  // repeated events are normal). Actions come in order: jobs with impossible numbers are rejected, those that lose GPUs
  // are stopped, the queue's jobs are started or rejected in order of arrival (with an allocation policy: by id), then
  // those whose workers migrate by id, then traffic by job id. `now` matters to allocation policies only, and never goes
  // back.
  std::vector<Action> Handle(std::span<const Event> events, SimTime now = SimTime());

  // When to call Handle with a WakeUp even if nothing happens.
  SimTime next_wake_up() const { return allocator_ ? allocator_->next_wake_up() : SimTime::Never(); }

  // The iteration of a running job; must be running.
  const model::Iteration& iteration(JobId job) const;
  size_t num_queued() const { return allocator_ ? allocator_->num_waiting() : queue_.size(); }
  size_t num_running() const { return running_.size(); }
  const ControlCounters& counters() const { return counters_; }
  const MigrationCounters& migrations() const { return migrations_; }
  // Whether the traffic policy chooses among placements, and what came of it.
  bool ChoosesPlacements() const { return !allocator_ && planner_.NumPlacements() > 1; }
  const traffic::PlacementCounters& placements() const { return placements_; }
  const topology::LinkHealth& health() const { return planner_.health(); }

 private:
  struct RunningJob {
    model::Job job;
    model::Placement placement;
    model::Iteration iteration;                // while its workers' state is on the way: that
    std::optional<model::Iteration> training;  // then: what it goes on with
    uint64_t arrival_order = 0;
    bool is_private = false;                   // never leaves NVLink: changes nothing for other jobs
    bool is_period_known = true;               // of `measured`
    std::optional<model::Iteration> measured;  // what policies see when jobs are profiled
    double relative_speed = 1;
    Seconds starved_for;
    PlanInForce traffic;
  };

  void Reserve(const std::vector<HostId>& hosts);
  void Submit(const model::Job& job, SimTime now, std::vector<Action>* actions);
  void Finish(JobId job, SimTime now);
  void Fail(JobId job, SimTime now, std::vector<Action>* actions);
  void Leave(JobId job);
  void Allocate(SimTime now, std::vector<Action>* actions);
  bool StartAllocated(const AllocationChange& change, std::vector<Action>* actions);
  void StartQueuedJobs(std::vector<Action>* actions);
  std::optional<model::Placement> FindPlacement(const model::Job& job);
  // The one that suits the traffic best.
  model::Placement ChoosePlacement(const model::Job& job, std::vector<model::Placement> offered);
  // Whether it started.
  bool StartOrReject(const model::Job& job, const model::Placement& placement, std::string reason,
                     std::vector<Action>* actions);
  void MigrateWorkers(std::vector<Action>* actions);
  void Migrate(const JobMove& move, RunningJob* job, model::Iteration training, std::vector<Action>* actions);
  void Resume(JobId job, std::vector<Action>* actions);
  void SetIteration(RunningJob* job, model::Iteration iteration);
  void AdoptProfile(const JobProfiled& event);
  void AdoptSpeed(const JobSpeedMeasured& event);
  void StartNextProfiling(std::vector<Action>* actions);
  // Of those that policies give out. The top one is kept for profiling, so that starting and ending it moves no job.
  static uint32_t FirstLevel(const ControllerOptions& options) {
    return options.profile_jobs && options.num_levels > 1 ? 1 : 0;
  }
  bool IsKnown(const RunningJob& job) const { return !options_.profile_jobs || job.measured.has_value(); }
  traffic::JobView ViewOf(const RunningJob& job) const;
  traffic::JobPlan PlanUnknown(const traffic::TrafficSnapshot& snapshot, const RunningJob& job,
                               uint32_t num_levels) const;
  bool StaysOnNvlink(const model::Iteration& iteration) const;
  void Replan(std::vector<Action>* actions);
  void AdoptPlan(RunningJob* job, traffic::JobPlan plan, std::vector<Action>* actions);

  const topology::Fabric* fabric_;
  const scheduling::PlacementPolicy* placement_;
  IterationProvider iterations_;
  ControllerOptions options_;

  PolicyPlanner planner_;
  // Something happened since the last plan that may concern other jobs than those that wait for their first plan.
  bool plan_is_stale_ = false;
  bool places_changed_ = false;  // since workers were last moved
  scheduling::GpuPool pool_;
  size_t num_gpus_;  // that jobs can have
  JobQueue queue_;
  std::optional<JobAllocator> allocator_;  // instead of the queue
  std::map<JobId, RunningJob> running_;
  ProfilingTurns turns_;  // of running jobs that are not known yet
  uint64_t num_arrived_ = 0;
  ControlCounters counters_;
  MigrationCounters migrations_;
  traffic::PlacementCounters placements_;
};

}  // namespace fairlead::controller
