// Which job goes first, of those that agents have measured.
//
//     JobMeasured --> JobMeasurements --+
//     paths in force -------------------+--> MeasuredJob --> PolicyPlanner --> level and reason of each job
//     links' health, jobs' levels ------+
//
// Problem     measurements come one by one, each a little other than the last; planning with each of them would cost
//             a pass over all connections, and would turn levels for noise.
// Method      a plan at most once per level_period, and only when something has changed that it is made of. How much
//             of a job's priority is noise follows from how much it has varied lately on the paths that it has
//             (priority_spread.h); the policy turns the order of two jobs by more than that only.
// Guarantees  same past, same plans. Without measurements there is none. Where levels are not set, intensities are
//             still computed, for people.
// Cost        a plan: O(links + links of all paths) and the policy's.
// Differs     Crux takes a profile for exact.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "base/units.h"
#include "controller/host_messages.h"
#include "controller/job_measurements.h"
#include "controller/job_table.h"
#include "controller/measured_jobs.h"
#include "controller/policy_planner.h"
#include "controller/priority_spread.h"
#include "topology/fabric.h"
#include "traffic/path_service.h"
#include "traffic/traffic_policy.h"

namespace fairlead::controller {

// As in TrafficControllerOptions.
struct LevelPlannerOptions {
  uint32_t num_levels = 8;
  bool sets_levels = true;
  double measurement_weight = 0.5;
  double order_error_probability = 1e-3;
  SimDuration level_period = SimDuration(2'000'000'000);
  uint64_t random_seed = 1;
};

class LevelPlanner {
 public:
  // The references must outlive this. Args: options valid.
  LevelPlanner(const topology::Fabric& fabric, const traffic::PathService& paths, const JobTable& jobs,
               const traffic::TrafficPolicy& policy, LevelPlannerOptions options);

  // Args: job: holds something on this host; message: without a fault (JobMeasurements::FindFault).
  void Measure(JobId job, HostId host, const JobMeasured& message);
  void SetHealth(LinkId link, double health);
  // Paths have changed.
  void MarkStale() { is_stale_ = true; }
  void RemoveConnection(JobId job, HostId host, uint64_t connection);
  void RemoveHost(JobId job, HostId host) { measurements_.RemoveHost(job, host); }
  void Forget(JobId job);

  // Levels and reasons of the measured jobs, by id. Empty: nothing to plan, or not yet.
  std::vector<traffic::JobPlan> PlanIfDue(SimTime now);

  // For people. Of a job of the table.
  std::optional<JobMeasurement> Sum(JobId job) const;
  std::optional<FlopPerSecond> FindIntensity(JobId job) const;   // at the last plan
  std::optional<Seconds> FindFastestIteration(JobId job) const;  // at all plans since it is measured

 private:
  struct Order {
    PrioritySpread spread;
    uint64_t paths_hash = 0;        // of the paths that `spread` is of
    bool is_measured_anew = false;  // since levels were planned
    std::optional<FlopPerSecond> intensity;
    std::optional<Seconds> fastest_iteration;
  };

  bool IsMeasuredByAll(JobId job) const;
  std::map<JobId, JobMeasurement> SumAll() const;
  void RememberFastest(const std::map<JobId, JobMeasurement>& sums);
  double PriorityUncertainty(const MeasuredJob& measured);
  void NoteIntensities(const traffic::TrafficSnapshot& snapshot);

  const topology::Fabric& fabric_;
  const traffic::PathService& paths_;
  const JobTable& jobs_;
  const LevelPlannerOptions options_;
  PolicyPlanner planner_;
  JobMeasurements measurements_;
  std::map<JobId, Order> orders_;  // of jobs that were measured
  bool is_stale_ = false;
  uint64_t planned_changes_ = 0;  // of the table, as of the last plan
  SimTime next_plan_;
};

}  // namespace fairlead::controller
