#include "traffic/crux/fairness.h"

#include <algorithm>

#include "base/check.h"

namespace fairlead::traffic::crux {

double LossOf(double relative_speed) { return std::clamp(1 - relative_speed, 0.0, 1.0); }

void MixInLosses(std::span<const JobProfile> jobs, std::span<const double> losses, double fairness,
                 PriorityOrder* order) {
  FL_CHECK(jobs.size() == losses.size() && jobs.size() == order->jobs.size());
  if (fairness == 0 || jobs.empty()) return;
  FlopPerSecond mean;
  for (const AssignedPriority& job : order->jobs) mean += job.priority;
  mean = mean / static_cast<double>(jobs.size());
  for (size_t j = 0; j < jobs.size(); ++j) {
    FlopPerSecond& priority = order->jobs[j].priority;
    priority = (1 - fairness) * priority + fairness * losses[j] * mean;
  }
  RankByPriority(jobs, order);
}

bool IsLifted(Seconds starved_for, Seconds guard) { return guard.value() > 0 && starved_for > guard; }

}  // namespace fairlead::traffic::crux
