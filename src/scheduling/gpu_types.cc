#include "scheduling/gpu_types.h"

namespace fairlead::scheduling {

std::vector<double> CountGpusOfTypes(const AllocationSnapshot& snapshot) {
  std::vector<double> counts(1);
  for (const NodeCapacity& node : snapshot.nodes) {
    if (node.gpu_type >= counts.size()) counts.resize(node.gpu_type + 1);
    counts[node.gpu_type] += node.num_gpus;
  }
  return counts;
}

std::vector<NodePool> PoolsByType(const AllocationSnapshot& snapshot, size_t num_types) {
  std::vector<NodePool> pools;
  for (uint32_t t = 0; t < num_types; ++t) {
    IdVector<HostId, NodeCapacity> nodes = snapshot.nodes;
    for (NodeCapacity& node : nodes) {
      if (node.gpu_type != t) node = {0, 0, t};
    }
    pools.emplace_back(nodes);
  }
  return pools;
}

}  // namespace fairlead::scheduling
