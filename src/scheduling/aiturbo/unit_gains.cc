#include "scheduling/aiturbo/unit_gains.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "scheduling/aiturbo/ballots.h"
#include "scheduling/job_sizes.h"

namespace fairlead::scheduling::aiturbo {
namespace {

void Weigh(const OperationGain& gain, std::optional<OperationGain>* best) {
  if (!*best || gain.gain > (*best)->gain) *best = gain;
}

// Also where it is not positive, so that no operation is applied.
double BestGain(const UnitGains& gains) {
  double best = -std::numeric_limits<double>::infinity();
  for (const OperationGain& gain : gains.gains) best = std::max(best, gain.gain);
  return best;
}

}  // namespace

Configuration CurrentConfiguration(const AllocationJob& job) {
  if (job.has_configs()) return {job.requested, job.memory.config.value_or(job.ps_worker->config)};
  if (job.memory.size && *job.memory.size < job.sizes.size()) return {*job.memory.size, std::nullopt};
  return {FindCurrentSize(job).value_or(job.requested), std::nullopt};
}

Resources ResourcesOf(const AllocationJob& job, const Configuration& configuration) {
  if (configuration.config) return {configuration.config->num_gpus, configuration.config->num_cores()};
  return job.sizes[configuration.size].resources();
}

double RemainingService(const AllocationJob& job, const Configuration& configuration, const ResourceUnits& units) {
  const double iteration_s = configuration.config ? job.ps_worker->iteration_s(*configuration.config)
                                                  : job.sizes[configuration.size].iteration_s;
  if (!job.is_predictable || !(iteration_s > 0)) return std::numeric_limits<double>::infinity();
  return job.remaining_iterations * iteration_s * units.Of(ResourcesOf(job, configuration));
}

std::optional<Configuration> ApplyTo(const AllocationJob& job, const Configuration& configuration, UnitOperation op) {
  if (configuration.config) {
    const auto changed = Apply(op, *configuration.config, job.ps_worker->limits);
    if (!changed) return std::nullopt;
    return Configuration{configuration.size, changed};
  }
  if (op == UnitOperation::kAddGpu && configuration.size + 1 < job.sizes.size()) {
    return Configuration{configuration.size + 1, std::nullopt};
  }
  if (op == UnitOperation::kRemoveGpu && configuration.size > 0) {
    return Configuration{configuration.size - 1, std::nullopt};
  }
  return std::nullopt;
}

std::optional<UnitGains> ComputeUnitGains(const AllocationJob& job, const ResourceUnits& units) {
  const Configuration now = CurrentConfiguration(job);
  const double service = RemainingService(job, now, units);
  if (!std::isfinite(service)) return std::nullopt;
  UnitGains result;
  std::optional<OperationGain> best_increase;
  std::optional<OperationGain> best_decrease;
  for (const UnitOperation op : AllUnitOperations()) {
    const auto after = ApplyTo(job, now, op);
    if (!after) continue;
    const double service_after = RemainingService(job, *after, units);
    if (!std::isfinite(service_after)) continue;
    result.gains.push_back({op, service - service_after});
    Weigh(result.gains.back(), IsIncrease(op) ? &best_increase : &best_decrease);
  }
  const bool increases =
      best_increase && best_increase->gain > 0 && (!best_decrease || best_increase->gain > best_decrease->gain);
  result.queue = increases ? GainQueue::kIncrease : GainQueue::kDecrease;
  result.best = increases ? best_increase : best_decrease;
  result.is_applied = result.best && result.best->gain > 0;
  return result;
}

GainBallot RankByGain(const AllocationSnapshot& snapshot, const std::vector<std::optional<UnitGains>>& gains) {
  GainBallot ballot;
  ballot.positions.resize(snapshot.jobs.size());
  for (const GainQueue queue : {GainQueue::kIncrease, GainQueue::kDecrease}) {
    std::vector<std::optional<double>> keys(snapshot.jobs.size());
    size_t& length = queue == GainQueue::kIncrease ? ballot.num_increasing : ballot.num_decreasing;
    for (size_t j = 0; j < gains.size(); ++j) {
      if (!gains[j] || gains[j]->queue != queue) continue;
      keys[j] = -BestGain(*gains[j]);
      ++length;
    }
    const auto positions = PositionsByKey(snapshot, keys);
    for (size_t j = 0; j < positions.size(); ++j) {
      if (positions[j]) ballot.positions[j] = positions[j];
    }
  }
  return ballot;
}

}  // namespace fairlead::scheduling::aiturbo
