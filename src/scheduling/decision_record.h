// What one decision of an allocation policy means for one job, as data to keep and to print: `explain`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "scheduling/allocation_policy.h"

namespace fairlead::scheduling {

// "kept", "started", …
std::string_view ChangeName(Change change);
// "no GPUs free", …; "-" for kNone.
std::string_view PendingCauseName(PendingCause cause);
// "round", "arrival", …
std::string_view TriggerName(Trigger trigger);

// A job that comes earlier in the order of service and holds resources after the decision.
struct JobAhead {
  JobId id;
  uint32_t order = 0;
  Resources resources;
  bool is_predictable = false;
};

// Expected value, and the interval in which it falls nine times of ten if predictions are off as usual.
struct TimeInterval {
  SimTime expected;
  SimTime low;
  SimTime high;
};

struct DecisionRecord {
  SimTime time;
  Trigger trigger = Trigger::kRound;
  uint32_t num_jobs = 0;         // that the decision was about
  uint32_t num_predictable = 0;  // of these
  Resources total;               // of the cluster
  Resources free;                // that no job got

  Resources held;  // before
  Resources granted;
  Resources requested;
  Resources smallest;
  bool is_predictable = false;
  double remaining_iterations = 0;  // meaningful where predictable
  double iteration_s = 0;           // predicted at what was granted, or requested while it waits; 0 = unknown
  double attained_service = 0;
  double restart_cost_s = 0;
  JobReason reason;
  // Of unit operations, also where the policy does not weigh them (`weighs_operations` false): what they would save.
  std::vector<OperationGain> gains;
  bool weighs_operations = false;
  std::vector<JobAhead> ahead;  // first served first

  // Nothing where it can't be foreseen. A lower bound of a job that waits: others may come, and go first.
  std::optional<TimeInterval> expected_start;
  std::optional<TimeInterval> expected_finish;
};

// Args: job, an index into snapshot.jobs; plan, of this snapshot. Cost: O(jobs log jobs).
DecisionRecord RecordDecision(const AllocationSnapshot& snapshot, const AllocationPlan& plan, size_t job);

// Observer of decisions, as they are made.
using DecisionObserver = std::function<void(const AllocationSnapshot&, const AllocationPlan&)>;

// Keeps what decisions mean for one job. `records` must outlive the observer.
DecisionObserver RecordDecisionsAbout(JobId job, std::vector<DecisionRecord>* records);

}  // namespace fairlead::scheduling
