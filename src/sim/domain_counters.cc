#include "sim/domain_counters.h"

#include "sim/congestion_loss.h"

namespace fairlead::sim {

DomainCounters ReadCounters(std::span<JobState* const> jobs, const DelayAccount& account,
                            const CongestionLoss* congestion) {
  DomainCounters counters;
  for (const JobState* job : jobs) {
    counters.iterations.push_back(job->iterations_done);
    counters.phase_runs.insert(counters.phase_runs.end(), job->phase_runs.begin(), job->phase_runs.end());
    std::vector<double>& weights = counters.delay_shares.emplace_back();
    for (const DelayShare& share : job->delay_shares) weights.push_back(share.weight_s);
  }
  counters.losses = account.losses.values();
  counters.bounds = account.bounds.values();
  if (congestion != nullptr) counters.congestion = congestion->totals();
  return counters;
}

DomainCounters DomainCounters::ChangeSince(const DomainCounters& then, uint64_t times) const {
  DomainCounters change;
  for (size_t j = 0; j < iterations.size(); ++j) {
    change.iterations.push_back(times * (iterations[j] - then.iterations[j]));
  }
  for (size_t i = 0; i < phase_runs.size(); ++i) {
    change.phase_runs.push_back(times * (phase_runs[i] - then.phase_runs[i]));
  }
  const auto k = static_cast<double>(times);
  for (size_t i = 0; i < losses.size(); ++i) {
    change.losses.push_back(k * (losses[i] - (i < then.losses.size() ? then.losses[i] : LostTime())));
  }
  for (size_t i = 0; i < bounds.size(); ++i) {
    change.bounds.push_back(k * (bounds[i] - (i < then.bounds.size() ? then.bounds[i] : 0)));
  }
  if (congestion) {
    change.congestion = *congestion;
    change.congestion->Add(*congestion, k - 1);
    change.congestion->Add(*then.congestion, -k);
  }
  return change;
}

void DomainCounters::Add(const DomainCounters& change) {
  for (size_t j = 0; j < iterations.size(); ++j) iterations[j] += change.iterations[j];
  for (size_t i = 0; i < phase_runs.size(); ++i) phase_runs[i] += change.phase_runs[i];
  losses.resize(change.losses.size());
  for (size_t i = 0; i < losses.size(); ++i) losses[i] += change.losses[i];
  bounds.resize(change.bounds.size());
  for (size_t i = 0; i < bounds.size(); ++i) bounds[i] += change.bounds[i];
  if (congestion) congestion->Add(*change.congestion);
}

}  // namespace fairlead::sim
