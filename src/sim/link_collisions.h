// Where flows collide: links between switches that are asked for more than they carry.
//
// A flow asks for what its NIC leaves it: the capacity of its tightest link outside the switches, shared with the job's
// other flows of the same phase on that link. On a link between switches these wishes add up, over the flows of a job's
// busiest phase and over all jobs. Where paths are spread well on a fabric without oversubscription, no link is asked
// for more than it has.
#pragma once

#include <span>
#include <vector>

#include "base/ids.h"
#include "sim/job_state.h"
#include "topology/fabric.h"

namespace fairlead::sim {

// Links of the tiers leaf-spine and spine-core that are asked for more than `capacities` [link], ascending.
// Cost: O(flows x hops) plus O(links).
std::vector<LinkId> FindCollidingLinks(std::span<const JobState* const> jobs, const topology::Fabric& fabric,
                                       const IdVector<LinkId, double>& capacities);

}  // namespace fairlead::sim
