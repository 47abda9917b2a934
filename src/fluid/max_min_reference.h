// Max-min fair rates by textbook progressive filling: slow, obvious, and the oracle of max_min_solver.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fluid/flow_table.h"

namespace fairlead::fluid {

struct ReferenceFlow {
  std::vector<LinkUse> route;  // at least one; links may repeat
  uint32_t level = 0;          // 0 = most important
  double weight = 1;           // > 0
};

// Args     capacities: [link], bytes/s, >= 0.
// Returns  [flow] rates in bytes/s: strict priority between levels, weighted max-min inside a level.
// Cost     O(links * (links + total route length)) for each level.
std::vector<double> ComputeMaxMinReference(std::span<const double> capacities, std::span<const ReferenceFlow> flows);

}  // namespace fairlead::fluid
