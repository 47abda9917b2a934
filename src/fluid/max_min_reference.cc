#include "fluid/max_min_reference.h"

#include <algorithm>
#include <limits>
#include <set>

namespace fairlead::fluid {
namespace {

// Shares `free` among the flows of one level, and takes from it what they get.
void FillLevel(std::span<const ReferenceFlow> flows, uint32_t level, std::vector<double>& free,
               std::vector<double>& rates) {
  std::vector<bool> undecided(flows.size());
  for (size_t f = 0; f < flows.size(); ++f) undecided[f] = flows[f].level == level;
  while (true) {
    std::vector<double> weight(free.size(), 0);
    for (size_t f = 0; f < flows.size(); ++f) {
      if (!undecided[f]) continue;
      for (const LinkUse& use : flows[f].route) weight[use.link] += use.multiplicity * flows[f].weight;
    }
    double least_share = std::numeric_limits<double>::infinity();
    size_t fullest = free.size();
    for (size_t link = 0; link < free.size(); ++link) {
      if (weight[link] > 0 && free[link] / weight[link] < least_share) {
        least_share = free[link] / weight[link];
        fullest = link;
      }
    }
    if (fullest == free.size()) return;
    for (size_t f = 0; f < flows.size(); ++f) {
      const bool crosses = std::any_of(flows[f].route.begin(), flows[f].route.end(),
                                       [&](const LinkUse& use) { return use.link == fullest; });
      if (!undecided[f] || !crosses) continue;
      undecided[f] = false;
      rates[f] = flows[f].weight * least_share;
      for (const LinkUse& use : flows[f].route) free[use.link] -= use.multiplicity * rates[f];
    }
    for (double& bytes_per_second : free) bytes_per_second = std::max(0.0, bytes_per_second);
  }
}

}  // namespace

std::vector<double> ComputeMaxMinReference(std::span<const double> capacities, std::span<const ReferenceFlow> flows) {
  std::vector<double> rates(flows.size(), 0);
  std::vector<double> free(capacities.begin(), capacities.end());
  std::set<uint32_t> levels;
  for (const ReferenceFlow& flow : flows) levels.insert(flow.level);
  for (uint32_t level : levels) {
    FillLevel(flows, level, free, rates);
    // What rounding leaves of a full link is nothing.
    for (size_t link = 0; link < free.size(); ++link) {
      if (free[link] < 1e-12 * capacities[link]) free[link] = 0;
    }
  }
  return rates;
}

}  // namespace fairlead::fluid
