// One order for jobs of known and of unknown length: positions on two ballots.
//
// Ballot (a): every job by attained service, least first. Ballot (b): predictable jobs by what they still need. A
// position on (b) is stretched by (all jobs / jobs on the ballot), so that positions of both ballots compare.
//
// Reference   Zhao et al., AITurbo, HPDC 2021 (Borda count); the stretching factor is ours.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "scheduling/allocation_policy.h"

namespace fairlead::scheduling::aiturbo {

// Positions from 1, [snapshot.jobs]. Ties by submission, id.
std::vector<uint32_t> ServicePositions(const AllocationSnapshot& snapshot);

// The same, but jobs of similar service count as equal: up to 600 resource-seconds, and then within a factor of 4;
// where a restart takes more than 30 s, the first level is larger in proportion. By the exact service two long jobs
// would take turns, and pay a restart each time.
std::vector<uint32_t> LevelPositions(const AllocationSnapshot& snapshot);

// The same for the jobs that have a key, smallest key first; nothing for the others.
std::vector<std::optional<uint32_t>> PositionsByKey(const AllocationSnapshot& snapshot,
                                                    const std::vector<std::optional<double>>& keys);

// position * (all jobs / jobs on its ballot).
inline double StretchPosition(uint32_t position, size_t num_jobs, size_t num_on_ballot) {
  return position * (static_cast<double>(num_jobs) / static_cast<double>(num_on_ballot));
}

}  // namespace fairlead::scheduling::aiturbo
