#include "scheduling/aiturbo/restart_budget.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fairlead::scheduling::aiturbo {
namespace {

// Of the budget: a pace that is only looked out for, as paces fall while jobs run.
constexpr double kPaceFactor = 5;
// Of the budget: from here on restarts are kept for what has to be.
constexpr double kReserve = 0.75;
// A change by itself is most often followed by one that others make.
constexpr double kRestartsEach = 2;
constexpr uint32_t kFewRestarts = 2;
// Of the time that a job has had resources: kept to one size for so long, it may change whatever its restarts. Lower:
// more restarts of long jobs.
constexpr double kLongestHold = 1.0 / 3;
// Of a fair share.
constexpr double kFloorPart = 0.5;
constexpr double kStayPart = 1;

uint64_t WholeGpus(double gpus) { return std::max<uint64_t>(1, static_cast<uint64_t>(gpus)); }

}  // namespace

bool RestartBudget::HasToSave(const AllocationJob& job, double left_s) const {
  if (most_ <= 0 || job.num_restarts < kFewRestarts) return false;
  if (job.num_restarts >= kReserve * most_) return true;
  return job.num_restarts * (job.executed_s + left_s) >= kPaceFactor * most_ * job.executed_s;
}

double RestartBudget::PaceSeconds(const AllocationJob& job, double left_s) const {
  if (job.num_restarts >= kReserve * most_) return std::numeric_limits<double>::infinity();
  return kRestartsEach * left_s / (kPaceFactor * most_ - job.num_restarts);
}

bool RestartBudget::IsEscape(const AllocationJob& job, double saved_s) const {
  return saved_s >= job.executed_s * std::exp2(std::max(0.0, job.num_restarts - most_));
}

bool RestartBudget::IsOverdue(const AllocationJob& job, double kept_s, double left_s, double saved_s) const {
  return IsSpent(job) && kept_s >= kLongestHold * job.executed_s && saved_s >= left_s / 2;
}

uint64_t FloorGpus(double fair_share) { return WholeGpus(kFloorPart * fair_share); }

uint64_t StayGpus(double fair_share) { return WholeGpus(kStayPart * fair_share); }

}  // namespace fairlead::scheduling::aiturbo
