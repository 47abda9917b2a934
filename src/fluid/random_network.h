// Random fluid networks for property tests, and the laws that every solution must satisfy.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "fluid/flow_network.h"
#include "fluid/max_min_reference.h"

namespace fairlead::fluid::testing {

struct NetworkShape {
  uint32_t max_links = 12;
  uint32_t max_flows = 24;
  uint32_t num_levels = 3;
  // Small integer capacities and weights make many exact ties; otherwise numbers are generic.
  bool ties = false;
};

inline double RandomCapacity(const NetworkShape& shape, Random& random) {
  if (random.Below(16) == 0) return 0;
  return shape.ties ? static_cast<double>(1 + random.Below(4)) : random.Uniform(1, 100);
}

inline std::vector<LinkUse> RandomRoute(uint32_t num_links, Random& random) {
  std::vector<LinkUse> route;
  const uint64_t length = 1 + random.Below(std::min<uint64_t>(5, num_links));
  for (uint64_t i = 0; i < length; ++i) {
    // A link may be named twice.
    const auto multiplicity = static_cast<uint32_t>(random.Below(4) == 0 ? 1 + random.Below(3) : 1);
    route.push_back({static_cast<uint32_t>(random.Below(num_links)), multiplicity});
  }
  return route;
}

inline ReferenceFlow RandomFlow(uint32_t num_links, const NetworkShape& shape, Random& random) {
  const double weight = random.Below(2) == 0 ? 1
                        : shape.ties         ? 1.0 + static_cast<double>(random.Below(3))
                                             : random.Uniform(0.1, 10);
  return {RandomRoute(num_links, random), static_cast<uint32_t>(random.Below(shape.num_levels)), weight};
}

// No link over capacity; every flow has a full link on which no flow of its level has a larger normalized rate and
// which lower levels don't use. These define max-min with strict priority.
inline void ExpectLaws(const std::vector<double>& capacities, const std::vector<ReferenceFlow>& flows,
                       const std::vector<double>& rates) {
  const size_t num_links = capacities.size();
  constexpr double kTolerance = 1e-9;
  std::vector<double> load(num_links, 0);
  std::vector<std::vector<double>> level_top(num_links, std::vector<double>(64, 0));
  std::vector<uint32_t> lowest_level(num_links, 0);
  for (size_t f = 0; f < flows.size(); ++f) {
    for (const LinkUse& use : flows[f].route) {
      load[use.link] += use.multiplicity * rates[f];
      double& top = level_top[use.link][flows[f].level];
      top = std::max(top, rates[f] / flows[f].weight);
      if (rates[f] > kTolerance) lowest_level[use.link] = std::max(lowest_level[use.link], flows[f].level);
    }
  }
  for (size_t link = 0; link < num_links; ++link) {
    // Absolute too: capacities are near 1 to 100, and on a dead link some 1e-15 may be left of a subtraction.
    ASSERT_LE(load[link], capacities[link] * (1 + kTolerance) + kTolerance) << "link " << link;
  }
  for (size_t f = 0; f < flows.size(); ++f) {
    const double normalized = rates[f] / flows[f].weight;
    const bool bounded = std::any_of(flows[f].route.begin(), flows[f].route.end(), [&](const LinkUse& use) {
      return load[use.link] >= capacities[use.link] * (1 - kTolerance) &&
             level_top[use.link][flows[f].level] <= normalized * (1 + kTolerance) + kTolerance &&
             lowest_level[use.link] <= flows[f].level;
    });
    ASSERT_TRUE(bounded) << "flow " << f << " could have more than " << rates[f];
  }
}

}  // namespace fairlead::fluid::testing
