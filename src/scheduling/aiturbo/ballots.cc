#include "scheduling/aiturbo/ballots.h"

#include <algorithm>
#include <cmath>

#include "scheduling/plan_assembly.h"

namespace fairlead::scheduling::aiturbo {

namespace {

// Ascending; ties by submission, id.
std::vector<uint32_t> PositionsBy(const AllocationSnapshot& snapshot, double (*key)(const AllocationJob&)) {
  ServiceOrder order = BySubmission(snapshot);
  std::ranges::stable_sort(order, {}, [&](uint32_t j) { return key(snapshot.jobs[j]); });
  std::vector<uint32_t> positions(order.size());
  for (uint32_t place = 0; place < order.size(); ++place) positions[order[place]] = place + 1;
  return positions;
}

constexpr double kFirstLevel = 600;
constexpr double kLevelFactor = 4;
constexpr double kUsualRestartS = 30;  // for which kFirstLevel is set

double LevelOf(const AllocationJob& job) {
  const double first = kFirstLevel * std::max(1.0, job.restart_cost_s / kUsualRestartS);
  return std::floor(std::log(std::max(job.attained_service / first, 1.0)) / std::log(kLevelFactor));
}

}  // namespace

std::vector<uint32_t> ServicePositions(const AllocationSnapshot& snapshot) {
  return PositionsBy(snapshot, [](const AllocationJob& job) { return job.attained_service; });
}

std::vector<uint32_t> LevelPositions(const AllocationSnapshot& snapshot) { return PositionsBy(snapshot, LevelOf); }

std::vector<std::optional<uint32_t>> PositionsByKey(const AllocationSnapshot& snapshot,
                                                    const std::vector<std::optional<double>>& keys) {
  ServiceOrder order = BySubmission(snapshot);
  std::erase_if(order, [&](uint32_t j) { return !keys[j].has_value(); });
  std::ranges::stable_sort(order, {}, [&](uint32_t j) { return *keys[j]; });
  std::vector<std::optional<uint32_t>> positions(snapshot.jobs.size());
  for (uint32_t place = 0; place < order.size(); ++place) positions[order[place]] = place + 1;
  return positions;
}

}  // namespace fairlead::scheduling::aiturbo
