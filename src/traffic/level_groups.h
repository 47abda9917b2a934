// Fitting a total order of jobs into the levels of a fabric by rank alone, as policies do that ignore which jobs meet.
//
// Figure 13 of the Crux paper (4 jobs, 2 levels) tells the rules apart: top ranks give {0,1,1,1}, equal groups
// {0,0,1,1}; the paper numbers levels the other way round.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fairlead::traffic {

enum class LevelRule {
  kEqualGroups,  // num_levels groups of equal size: floor(rank * num_levels / num_jobs)
  kTopRanks,     // the first num_levels-1 ranks have a level each, all others share the last one
};

// Args     rank < num_jobs, 0 = most important; num_levels >= 1.
// Returns  a level < num_levels, 0 = most important; it never falls as rank grows.
uint32_t LevelOfRank(LevelRule rule, size_t rank, size_t num_jobs, uint32_t num_levels);

}  // namespace fairlead::traffic
