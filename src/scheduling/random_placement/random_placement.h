// Random placement: hosts drawn uniformly among those with enough free GPUs. Represents a fragmented cluster and for
// "no job scheduler underneath" (Crux, section 6.4).
//
// The draw depends on the seed and the job's id only, so that a job lands the same way whatever else was asked before.
// What it offers beside its own choice are further draws: all are as good to it, whatever leaves they touch.
#pragma once

#include <cstdint>
#include <memory>

#include "scheduling/placement_policy.h"

namespace fairlead::scheduling::random_placement {

std::unique_ptr<PlacementPolicy> CreateRandomPlacement(uint64_t seed);

}  // namespace fairlead::scheduling::random_placement
