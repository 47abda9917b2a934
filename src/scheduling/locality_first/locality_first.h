// Locality-first placement: keeps a job under as few switches as it can, as the production cluster of the Crux paper
// does (section 2.2: same host, then same top-of-rack switch, then same pod).
//
// Method      Find the smallest unit (leaf group, then pod, then everything) with hosts that can hold the whole job;
//             among equal units take the fullest one (best fit), so that large free units stay whole. Inside a pod or
//             the whole fabric, leaf groups with most usable hosts come first, so that the job touches few leaves.
//             Inside a leaf group, the hosts with the fewest free GPUs that still hold their share come first. A job of
//             one host goes to the host with the fewest free GPUs that holds it, so that whole hosts stay whole.
// Cost        O(hosts log hosts) per call.
// Guarantees  A pure function; ties break on the lowest group and host id. What it offers beside its own choice touches
//             as few hosts, leaves and pods, but may start a leaf that it would have kept whole.
#pragma once

#include <cstdint>
#include <memory>

#include "scheduling/placement_policy.h"

namespace fairlead::scheduling::locality_first {

// Args: seed: of the placements that it offers beside its own.
std::unique_ptr<PlacementPolicy> CreateLocalityFirst(uint64_t seed);

}  // namespace fairlead::scheduling::locality_first
