#include "traffic/level_groups.h"

#include <algorithm>

#include "base/check.h"

namespace fairlead::traffic {

uint32_t LevelOfRank(LevelRule rule, size_t rank, size_t num_jobs, uint32_t num_levels) {
  FL_CHECK(rank < num_jobs && num_levels >= 1);
  switch (rule) {
    case LevelRule::kEqualGroups:
      return static_cast<uint32_t>(rank * num_levels / num_jobs);
    case LevelRule::kTopRanks:
      return static_cast<uint32_t>(std::min<size_t>(rank, num_levels - 1));
  }
  return 0;
}

}  // namespace fairlead::traffic
