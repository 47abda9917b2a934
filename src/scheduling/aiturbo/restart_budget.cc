#include "scheduling/aiturbo/restart_budget.h"

#include <algorithm>
#include <cmath>

namespace fairlead::scheduling::aiturbo {
namespace {
constexpr uint32_t kFewRestarts = 2;
// Of the budget, for restarts that others make: a change by itself is most often followed by one.
constexpr double kReserve = 2;
// Of what is left of a job, shared out to what is left of its budget: others make most of the restarts, so its own come
// sooner than that. Higher: fewer restarts, long jobs end later.
constexpr double kPacePart = 0.2;
// Of the pace, for what nobody else would use.
constexpr double kEarlyPart = 0.25;
// Of the wanted GPUs: not worth a restart. Hardly matters.
constexpr double kCrumb = 0.25;
// Of the time that a job has had resources: kept to one size for so long, it may change whatever its restarts. Lower:
// more restarts of long jobs.
constexpr double kLongestHold = 1.0 / 3;

}  // namespace

bool RestartBudget::HasToSave(const AllocationJob& job) const { return most_ > 0 && job.num_restarts >= kFewRestarts; }

double RestartBudget::PaceSeconds(const AllocationJob& job, double left_s) const {
  return kPacePart * left_s / std::max(1.0, most_ - kReserve - job.num_restarts);
}

bool RestartBudget::IsBound(const AllocationJob& job) const { return job.num_restarts + kReserve >= most_; }

bool RestartBudget::IsEscape(const AllocationJob& job, double saved_s) const {
  return saved_s >= job.executed_s * std::exp2(std::max(0.0, job.num_restarts - most_));
}

bool RestartBudget::IsOverdue(const AllocationJob& job, double kept_s, double left_s, double saved_s) const {
  return IsSpent(job) && kept_s >= kLongestHold * job.executed_s && saved_s >= left_s / 2;
}

double EarlySeconds(double pace_s) { return kEarlyPart * pace_s; }

bool IsCrumb(uint64_t num_gpus, uint64_t wanted_gpus) {
  return static_cast<double>(num_gpus) < kCrumb * static_cast<double>(wanted_gpus);
}

uint64_t LessGpus(uint64_t num_gpus) { return num_gpus / 2; }

}  // namespace fairlead::scheduling::aiturbo
