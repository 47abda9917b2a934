// Locality-first placement: keeps a job under as few switches as it can, as the production cluster of the Crux paper
// does (section 2.2: same host, then same top-of-rack switch, then same pod).
//
// Method      Find the smallest unit (leaf group, then pod, then everything) with hosts that can hold the whole job;
//             among equal units take the fullest one (best fit), so that large free units stay whole. Inside a pod or
//             the whole fabric, leaf groups with most usable hosts come first, so that the job touches few leaves.
//             Inside a leaf group, the hosts with the fewest free GPUs that still hold their share come first. A job of
//             one host goes to the host with the fewest free GPUs that holds it, so that whole hosts stay whole.
// Cost        O(hosts log hosts) per call.
// Guarantees  A pure function; ties break on the lowest group and host id.
#pragma once

#include <memory>

#include "scheduling/placement_policy.h"

namespace fairlead::scheduling::locality_first {

std::unique_ptr<PlacementPolicy> CreateLocalityFirst();

}  // namespace fairlead::scheduling::locality_first
