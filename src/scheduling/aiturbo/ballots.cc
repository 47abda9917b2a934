#include "scheduling/aiturbo/ballots.h"

#include <algorithm>

#include "scheduling/job_sizes.h"
#include "scheduling/plan_assembly.h"

namespace fairlead::scheduling::aiturbo {

std::vector<uint32_t> ServicePositions(const AllocationSnapshot& snapshot) {
  ServiceOrder order = BySubmission(snapshot);
  std::ranges::stable_sort(order, {}, [&](uint32_t j) { return snapshot.jobs[j].attained_service; });
  std::vector<uint32_t> positions(order.size());
  for (uint32_t place = 0; place < order.size(); ++place) positions[order[place]] = place + 1;
  return positions;
}

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
