// Who gets how many GPUs, and where: keeps what an allocation policy has to know about each job, asks it, and turns its
// plan into changes.
//
//     jobs, progress, time --> AllocationSnapshot --> policy --> plan -- diff --> AllocationChange
//
// Speeds   in a simulation the speed of a size that the policy receives is the job's profile, corrected by what its
//          iterations took (prediction/contended_speed.h): contention on the network that the traffic policy did not
//          avoid makes sizes on several hosts look as slow as they are. Of real jobs nobody has a profile: what they
//          took at other sizes has to do (prediction/measured_speed.h).
// Nodes    hosts come and go as events. Down and isolated ones have no room: their jobs are placed again or wait. A
//          draining one keeps the jobs that it has and takes no other. Spare ones join, lowest id first, one for each
//          that is down or isolated, and drain when it is back.
// Pinned   jobs that somebody is at (they are stopped, or wait to run where they were put) are not decided about: the
//          policy sees the other jobs, and the cluster without what the pinned ones hold or are promised. Once they are
//          free again, those who were decided without them are looked at anew. Service is that of what they hold, and
//          times of changes are those of their ends.
// Lengths  the remaining work of a job is known once the share of its iterations is done after which it can be
//          predicted (model::Elasticity); before, the job counts as unpredictable.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "base/status.h"
#include "model/job.h"
#include "prediction/contended_speed.h"
#include "scheduling/allocation_policy.h"
#include "scheduling/decision_record.h"
#include "topology/fabric.h"

namespace fairlead::controller {

// What is known beforehand of how fast a job trains at each of its usable sizes, in this order.
using SpeedSource = std::function<Result<std::unique_ptr<prediction::JobSpeed>>(const model::Job&)>;
// How fast a job trains alone at each of them: simulated, or measured beforehand.
using SpeedProfiler = std::function<Result<std::vector<prediction::SpeedPoint>>(const model::Job&)>;
SpeedSource SpeedsOfProfiles(SpeedProfiler profiler);

struct AllocationOptions {
  // Null: sizes are fixed, jobs start in order of arrival. Must outlive the controller.
  const scheduling::AllocationPolicy* policy = nullptr;
  SpeedSource speeds;  // needed with a policy
  // False: what was known beforehand is believed whatever is measured.
  bool learns_speeds = true;
  scheduling::DecisionObserver observer;  // may be empty
};

// How far a running job has come, and how long its iterations took lately.
struct JobProgressed {
  JobId job;
  double iterations_done = 0;  // since its first start, stops included
  Seconds iteration_time;      // mean since the last report; 0: none ended
  Seconds measured_for;        // how long that was
};

// Where a job is in truth, if that may be elsewhere than where it was put: changes of real clusters may fail, and
// others change them, too.
struct JobFound {
  JobId job;
  std::vector<scheduling::NodeShare> nodes;  // empty: it waits
};

// What changes of a job's nodes have been found to cost, instead of Elasticity::restart_cost.
struct RestartMeasured {
  JobId job;
  SimDuration cost;
};

// How long iterations of a job took at a size that it has had before.
struct SpeedMeasured {
  JobId job;
  uint32_t num_gpus = 0;
  uint32_t num_hosts = 0;
  Seconds iteration_time;
  Seconds measured_for;
};

// What a job has had before this allocator knew it.
struct JobHistory {
  double attained_service = 0;  // GPU-seconds
  double executed_s = 0;        // with GPUs
  uint32_t num_starts = 0;      // after waiting or with other nodes; not counting the one by which it runs now
  double iterations_done = 0;
};

// What a host may be used for.
enum class HostState : uint8_t {
  kUp,        // everything
  kDraining,  // the jobs that it has
  kIsolated,  // nothing: a fault was found on it
  kDown,      // nothing: it is gone
  kSpare,     // nothing, until another one is isolated or down
};

// A host fails, is isolated, is to be emptied, or comes back.
struct HostStateChanged {
  HostId host;
  HostState state = HostState::kUp;
};

// A job that changes nodes.
struct AllocationChange {
  JobId job;
  std::vector<scheduling::NodeShare> nodes;  // empty: it stops
  std::string reason;
};

// A job that is not to be decided about now. It may be unknown to the allocator.
struct PinnedJob {
  std::vector<scheduling::NodeShare> reserved;  // all that it holds or is promised: nobody else gets that
  uint32_t num_gpus_held = 0;                   // of these
};
using PinnedJobs = std::map<JobId, PinnedJob>;

// GPUs that the job may run on, ascending, as far as the cluster has them; one size where it has no others.
std::vector<uint32_t> UsableSizes(const model::Job& job, size_t cluster_gpus);

class JobAllocator {
 public:
  // `fabric` must outlive it; `options.policy` is set.
  JobAllocator(const topology::Fabric& fabric, AllocationOptions options);

  // Sizes beyond the cluster are left out. Errors: kInvalidArgument when the job asks for more than the cluster has, its
  // sizes are not ascending or miss what it asks for, or nothing is known of its speeds. A job that is known already is
  // ignored.
  Status Submit(const model::Job& job, SimTime now, const JobHistory& history = {});
  // The job has ended, or can't run after all. Unknown jobs are ignored.
  void Remove(JobId job, SimTime now);
  void Adopt(const JobProgressed& progress);
  // Where it is already is no news.
  void Adopt(const JobFound& found, SimTime now);
  void Adopt(const RestartMeasured& restart);
  void Adopt(const SpeedMeasured& speed);
  // A state that the host has already is no news. `change.host` is one of the fabric's.
  void Adopt(const HostStateChanged& change);

  // These, and no others, are pinned from now on.
  void SetPinned(PinnedJobs pinned, SimTime now);

  // When the policy wants to be asked although nothing happened.
  SimTime next_wake_up() const { return next_wake_up_; }
  size_t num_waiting() const;

  // Asks the policy if there is a reason to: jobs came, went or became predictable since the last time, hosts changed,
  // pinned jobs became free that it was not asked about, or the wake-up time has come. Returns changes by job id, none of
  // a pinned one; the caller must carry all of them out. `now` never goes back.
  std::vector<AllocationChange> Decide(SimTime now);

  // The job is carried out on other hosts than decided, of the same sizes: policies count GPUs, and whoever knows the
  // fabric may choose better ones among those that have room. No news.
  void Relocate(JobId id, std::vector<scheduling::NodeShare> nodes) { entries_.at(id).current = std::move(nodes); }

  // Of jobs that are known.
  const model::Job& job(JobId id) const { return entries_.at(id).job; }
  const std::vector<scheduling::NodeShare>& nodes(JobId id) const { return entries_.at(id).current; }
  const prediction::JobSpeed& speed(JobId id) const { return *entries_.at(id).speed; }
  JobHistory HistoryOf(JobId id) const;

 private:
  struct Entry {
    model::Job job;
    std::unique_ptr<prediction::JobSpeed> speed;
    std::vector<scheduling::JobSize> sizes;
    uint32_t requested = 0;
    std::vector<scheduling::NodeShare> current;
    double attained_service = 0;
    double executed_s = 0;
    SimTime waiting_since;
    SimTime running_since;
    SimTime resized_at;
    uint32_t num_starts = 0;  // after waiting or with other nodes
    double iterations_done = 0;
    bool is_predictable = false;
    scheduling::JobMemory memory;
  };

  // Since the policy was asked.
  struct News {
    bool arrival = false;
    bool departure = false;
    bool flip = false;  // a job has become predictable
    bool hosts = false;

    bool any() const { return arrival || departure || flip || hosts; }
  };

  // What jobs may use of each host now. Args: kept: [host] GPUs of draining hosts; nothing more may start there.
  IdVector<HostId, scheduling::NodeCapacity> UsableNodes(const IdVector<HostId, uint32_t>& kept) const;
  // [host] GPUs that jobs hold. Args: stays: [snapshot.jobs] whether to count it.
  IdVector<HostId, uint32_t> HeldGpus(const scheduling::AllocationSnapshot& snapshot,
                                      const std::vector<bool>& stays) const;
  bool IsDraining(HostId host) const;
  // Whether all that it holds is on draining hosts, so that nobody else may have it.
  bool IsOnDrainingHosts(const scheduling::AllocationJob& job) const;
  scheduling::AllocationPlan Ask(const scheduling::AllocationSnapshot& snapshot) const;
  // What the policy says where some jobs, which hold what they hold, are no concern of it.
  // Args: is_left_out: [snapshot.jobs].
  scheduling::AllocationPlan AskWithout(const std::vector<bool>& is_left_out,
                                        const scheduling::AllocationSnapshot& snapshot) const;
  // A plan that puts no job on a draining host where it is not already, and stops none for a draining host's room.
  scheduling::AllocationPlan AskPolicy(scheduling::AllocationSnapshot* snapshot) const;
  void CountService(SimTime now);
  scheduling::Trigger FindTrigger() const;
  scheduling::AllocationSnapshot TakeSnapshot(SimTime now);
  scheduling::AllocationJob Describe(Entry& entry) const;
  static void Move(const std::vector<scheduling::NodeShare>& nodes, SimTime now, Entry* entry);

  const topology::Fabric* fabric_;
  AllocationOptions options_;
  scheduling::ResourceUnits units_;
  IdVector<HostId, HostState> hosts_;
  IdVector<HostId, uint8_t> is_used_spare_;  // those that stand in for another
  std::map<JobId, Entry> entries_;
  PinnedJobs pinned_;
  std::vector<JobId> left_out_;        // known jobs that were pinned when the policy was asked last
  std::vector<double> ended_service_;  // AllocationSnapshot::ended_service
  scheduling::ClusterMemory memory_;
  SimTime counted_until_;
  SimTime next_wake_up_ = SimTime::Never();
  News news_;
};

}  // namespace fairlead::controller
