// Paths and levels that somebody else has decided.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"

namespace fairlead::traffic::fixed {

// A job with given paths or a given level.
struct Pin {
  JobId job;
  // Which of its equal-cost paths each flow takes, modulo their number. Not with `via`.
  std::optional<uint64_t> path = {};
  // Each flow takes the first of its equal-cost paths through this switch; flows that have none stay on the path of
  // their hash. Invalid: none given.
  NodeId via = {};
  uint32_t level = 0;  // beyond those of the fabric: the last
};

struct FixedOptions {
  std::vector<Pin> pins;  // each job once; the others have the paths of their hashes and level 0
};

}  // namespace fairlead::traffic::fixed
