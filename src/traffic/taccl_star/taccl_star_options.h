// Open points of TACCL*.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "traffic/level_groups.h"
#include "traffic/path_selection.h"

namespace fairlead::traffic::taccl_star {

// Which jobs look for the least congested path when something changes.
enum class Reading {
  kArrivals,  // a job when it comes; then it is never moved, but for flows whose path has died
  kAll,       // all jobs, in order of arrival
};

struct TacclStarOptions {
  // The Crux paper gives one rule (less congested paths), and says that it re-plans at every event, of Crux only.
  Reading reading = Reading::kArrivals;
  // Equal groups, or Sincronia's rule: the Crux paper says neither.
  LevelRule levels = LevelRule::kEqualGroups;
  PathSelectionOptions paths;
  // Equal-cost paths looked at per flow, as in Crux. >= 1.
  uint32_t max_candidates = 128;

  Status Validate() const;
};

}  // namespace fairlead::traffic::taccl_star
