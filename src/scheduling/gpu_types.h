// The types of GPU of a cluster: how many GPUs there are of each, and which of its nodes are free.
#pragma once

#include <vector>

#include "scheduling/allocation_policy.h"
#include "scheduling/node_pool.h"

namespace fairlead::scheduling {

// [gpu_type] GPUs on nodes of the type; at least one type.
std::vector<double> CountGpusOfTypes(const AllocationSnapshot& snapshot);

// [gpu_type] a pool of the nodes of the type; nodes of others are empty in it. Args: num_types: those that
// CountGpusOfTypes() finds.
std::vector<NodePool> PoolsByType(const AllocationSnapshot& snapshot, size_t num_types);

}  // namespace fairlead::scheduling
