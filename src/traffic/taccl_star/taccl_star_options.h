// Open points of TACCL*.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "traffic/level_groups.h"
#include "traffic/path_selection.h"

namespace fairlead::traffic::taccl_star {

struct TacclStarOptions {
  // Equal groups, or Sincronia's rule: the Crux paper says neither.
  LevelRule levels = LevelRule::kEqualGroups;
  PathSelectionOptions paths;
  // Equal-cost paths looked at per flow, as in Crux. >= 1.
  uint32_t max_candidates = 128;

  Status Validate() const;
};

}  // namespace fairlead::traffic::taccl_star
