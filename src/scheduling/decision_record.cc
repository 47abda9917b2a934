#include "scheduling/decision_record.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "scheduling/aiturbo/unit_gains.h"
#include "scheduling/job_sizes.h"

namespace fairlead::scheduling {
namespace {

double PredictedIterationSeconds(const AllocationJob& job, const JobGrant& grant) {
  if (grant.config && job.has_configs()) {
    return job.ps_worker->iteration_s(*grant.config);
  }
  const Resources resources = grant.resources.empty() ? RequestedSize(job).resources() : grant.resources;
  const auto size = std::ranges::find(job.sizes, resources, &JobSize::resources);
  return size == job.sizes.end() ? 0 : size->iteration_s;
}

std::vector<JobAhead> FindAhead(const AllocationSnapshot& snapshot, const AllocationPlan& plan, size_t job) {
  std::vector<JobAhead> ahead;
  for (size_t j = 0; j < plan.jobs.size(); ++j) {
    const JobGrant& grant = plan.jobs[j];
    if (grant.resources.empty() || grant.reason.order >= plan.jobs[job].reason.order) continue;
    ahead.push_back({snapshot.jobs[j].id, grant.reason.order, grant.resources, snapshot.jobs[j].is_predictable});
  }
  std::ranges::sort(ahead, {}, &JobAhead::order);
  return ahead;
}

// 90 % of a normal number lie within so many standard deviations.
constexpr double kNinetyPercent = 1.645;

// `expected`, if the time until then is off by a factor with this standard deviation of its logarithm.
TimeInterval Around(SimTime now, SimTime expected, double error) {
  const double left_s = (expected - now).seconds().value();
  const double factor = std::exp(kNinetyPercent * error);
  const auto after = [&](double seconds) { return now + SimDuration::FromSeconds(Seconds(seconds)); };
  return {expected, after(left_s / factor), after(std::min(left_s * factor, kFarAwayS))};
}

// A waiting job starts when others end, so their predictions count.
double ErrorOfOthers(const AllocationSnapshot& snapshot, const AllocationPlan& plan) {
  double error = 0;
  for (size_t j = 0; j < plan.jobs.size(); ++j) {
    if (plan.jobs[j].reason.expected_finish) error = std::max(error, snapshot.jobs[j].prediction_error);
  }
  return error;
}

void ExpectTimes(const AllocationSnapshot& snapshot, const AllocationPlan& plan, size_t job, DecisionRecord* record) {
  const JobReason& reason = plan.jobs[job].reason;
  const double own_error = snapshot.jobs[job].prediction_error;
  if (reason.expected_finish) record->expected_finish = Around(snapshot.now, *reason.expected_finish, own_error);
  if (!reason.expected_start) return;
  const double error = ErrorOfOthers(snapshot, plan);
  record->expected_start = Around(snapshot.now, *reason.expected_start, error);
  const double run_s = record->restart_cost_s + record->remaining_iterations * record->iteration_s;
  if (!record->is_predictable || record->iteration_s <= 0 || run_s > kFarAwayS) return;
  const SimTime finish = *reason.expected_start + SimDuration::FromSeconds(Seconds(run_s));
  record->expected_finish = Around(snapshot.now, finish, std::max(error, own_error));
}

}  // namespace

std::string_view ChangeName(Change change) {
  switch (change) {
    case Change::kKept:
      return "kept";
    case Change::kStarted:
      return "started";
    case Change::kResized:
      return "resized";
    case Change::kMoved:
      return "moved";
    case Change::kStopped:
      return "stopped";
    case Change::kPending:
      break;
  }
  return "pending";
}

std::string_view PendingCauseName(PendingCause cause) {
  switch (cause) {
    case PendingCause::kNone:
      break;
    case PendingCause::kTooLarge:
      return "larger than the cluster";
    case PendingCause::kNoGpus:
      return "no GPUs left";
    case PendingCause::kNoCores:
      return "no cores left";
    case PendingCause::kBehind:
      return "behind a job that has to start first";
    case PendingCause::kScattered:
      return "no node with GPUs and cores together";
  }
  return "-";
}

std::string_view TriggerName(Trigger trigger) {
  switch (trigger) {
    case Trigger::kRound:
      break;
    case Trigger::kArrival:
      return "arrival";
    case Trigger::kDeparture:
      return "departure";
    case Trigger::kFlip:
      return "flip";
    case Trigger::kNodes:
      return "nodes";
  }
  return "round";
}

DecisionRecord RecordDecision(const AllocationSnapshot& snapshot, const AllocationPlan& plan, size_t job) {
  FL_CHECK(plan.jobs.size() == snapshot.jobs.size() && job < plan.jobs.size());
  const AllocationJob& described = snapshot.jobs[job];
  const JobGrant& grant = plan.jobs[job];
  DecisionRecord record;
  record.time = snapshot.now;
  record.trigger = snapshot.trigger;
  record.num_jobs = static_cast<uint32_t>(snapshot.jobs.size());
  record.num_predictable =
      static_cast<uint32_t>(std::ranges::count(snapshot.jobs, true, &AllocationJob::is_predictable));
  record.total = TotalCapacity(snapshot);
  record.free = record.total;
  for (const JobGrant& other : plan.jobs) record.free = record.free - other.resources;
  record.held = CurrentResources(described);
  record.granted = grant.resources;
  record.requested = RequestedSize(described).resources();
  record.smallest = described.sizes.front().resources();
  record.is_predictable = described.is_predictable;
  record.remaining_iterations = described.is_predictable ? described.remaining_iterations : 0;
  record.iteration_s = PredictedIterationSeconds(described, grant);
  record.attained_service = described.attained_service;
  record.restart_cost_s = described.restart_cost_s;
  record.reason = grant.reason;
  record.weighs_operations = !grant.reason.gains.empty();
  record.gains = grant.reason.gains;
  if (!record.weighs_operations) {
    if (auto gains = aiturbo::ComputeUnitGains(described, snapshot.units)) record.gains = std::move(gains->gains);
  }
  record.ahead = FindAhead(snapshot, plan, job);
  ExpectTimes(snapshot, plan, job, &record);
  return record;
}

DecisionObserver RecordDecisionsAbout(JobId job, std::vector<DecisionRecord>* records) {
  return [job, records](const AllocationSnapshot& snapshot, const AllocationPlan& plan) {
    const auto found = std::ranges::find(snapshot.jobs, job, &AllocationJob::id);
    if (found == snapshot.jobs.end()) return;
    records->push_back(RecordDecision(snapshot, plan, static_cast<size_t>(found - snapshot.jobs.begin())));
  };
}

}  // namespace fairlead::scheduling
