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
// Of a fair share. Higher: fewer restarts of long jobs, others wait longer.
constexpr double kTurnPart = 0.5;
// Of the wanted GPUs: not worth a restart. Hardly matters.
constexpr double kCrumb = 0.25;

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

bool RestartBudget::TakesTurns(const AllocationJob& job) const {
  return most_ > 0 && job.num_restarts >= kFewRestarts && job.num_restarts >= kReserve * most_;
}

double RestartBudget::TurnSeconds(const AllocationJob& job, double left_s) const {
  return left_s / std::max(1.0, most_ - job.num_restarts);
}

bool RestartBudget::IsEscape(const AllocationJob& job, double saved_s) const {
  return saved_s >= job.executed_s * std::exp2(std::max(0.0, job.num_restarts - most_));
}

bool RestartBudget::IsOverdue(const AllocationJob& job, double kept_s, double left_s, double saved_s) const {
  return TakesTurns(job) && kept_s >= kLongestHold * job.executed_s && saved_s >= left_s / 2;
}

double TurnGpus(double fair_share) { return kTurnPart * fair_share; }

uint64_t StayGpus(double room) { return static_cast<uint64_t>(2 * room); }

uint64_t LessGpus(uint64_t num_gpus) { return num_gpus / 2; }

bool IsCrumb(uint64_t num_gpus, uint64_t wanted_gpus) {
  return static_cast<double>(num_gpus) < kCrumb * static_cast<double>(wanted_gpus);
}

}  // namespace fairlead::scheduling::aiturbo
