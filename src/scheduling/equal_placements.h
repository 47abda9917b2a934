// Placements that are as good as the one that a policy has chosen, for callers that have a wish of their own.
//
// Equal       as many hosts, that have as many free GPUs each, of as many leaf groups, in as many pods. How many hosts
//             of a job are in which of its groups may differ, and so may how full the groups are: a policy that would
//             rather fill groups that are started gives that up where it offers a choice.
// Method      Drawn: pods; in them groups one after the other, each among those after which the rest still fits; how
//             many hosts of each; which hosts. Ranks go through the hosts pod by pod and group by group.
// Cost        O(hosts log hosts + draws * groups of the job * groups log groups); at most 8 draws for each placement
//             that is wanted.
// Guarantees  same pool, job and seed, same placements. Where there is room for one placement only, that is all.
#pragma once

#include <cstdint>
#include <vector>

#include "scheduling/placement_policy.h"

namespace fairlead::scheduling {

// Up to `most` >= 1 placements that differ in their hosts, `chosen` first.
// Args: pool: as it is before the job starts; chosen: of `job`, of its free GPUs.
std::vector<model::Placement> DrawEqualPlacements(const GpuPool& pool, const model::Job& job,
                                                  const model::Placement& chosen, uint32_t most, uint64_t seed);

}  // namespace fairlead::scheduling
