// Which GPUs and cores of which node are free, and the rule by which jobs take them.
//
// Rule   GPUs come from the node with most free GPUs, lowest index among equals, as many as it has or the job still
//        needs; each with its part of the job's cores. Where that fits nowhere, and the job states how many cores each
//        GPU needs on its host: with so many. Cores that belong to no GPU (CPU workers, parameter servers) come from
//        the node with most free cores, likewise.
// Dense  the other rule, for policies that choose it: as few nodes as possible, and the rest of the job into the node
//        where it leaves least free. Emptier nodes stay whole for larger jobs.
// Cost   Take: O(shares * log nodes), but for jobs with cores per GPU on nodes without enough cores: O(nodes).
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "scheduling/allocation_policy.h"

namespace fairlead::scheduling {

class NodePool {
 public:
  // Everything free.
  explicit NodePool(const IdVector<HostId, NodeCapacity>& nodes);

  // Takes exactly these shares; false, and nothing taken, when a node has too little.
  bool TakeShares(const std::vector<NodeShare>& shares);
  // Takes `wanted` by the rule; nothing when it isn't there. Args: least_per_gpu: cores that each GPU needs on its
  // host, at most wanted.num_cores / wanted.num_gpus; none: all of them.
  std::optional<std::vector<NodeShare>> Take(const Resources& wanted,
                                             std::optional<uint32_t> least_per_gpu = std::nullopt);
  // The same by the dense rule.
  std::optional<std::vector<NodeShare>> TakeDense(const Resources& wanted,
                                                  std::optional<uint32_t> least_per_gpu = std::nullopt);
  void Release(const std::vector<NodeShare>& shares);

  const Resources& free() const { return free_; }

 private:
  struct NodeFree {
    uint32_t num_gpus = 0;
    uint32_t num_cores = 0;
  };
  void Change(HostId node, int64_t gpus, int64_t cores);
  // The node that gives most GPUs, each with this many cores; invalid when none gives any.
  HostId FindNodeForGpus(uint64_t cores_per_gpu) const;
  // The node with fewest free GPUs that still gives `num_gpus`, each with this many cores; invalid when none does.
  HostId FindTightestNode(uint64_t num_gpus, uint64_t cores_per_gpu) const;
  enum class Rule : uint8_t { kEmptiest, kDense };
  std::optional<std::vector<NodeShare>> TakeBy(Rule rule, const Resources& wanted,
                                               std::optional<uint32_t> least_per_gpu);
  std::optional<std::vector<NodeShare>> TakeWith(Rule rule, const Resources& wanted, uint64_t cores_per_gpu);
  bool TakeGpus(Rule rule, uint64_t num_gpus, uint64_t cores_per_gpu, std::vector<NodeShare>* shares);
  bool TakeCores(uint64_t num_cores, std::vector<NodeShare>* shares);

  IdVector<HostId, NodeFree> nodes_;
  // Nodes by what they have free: by_gpus_[g], by_cores_[c].
  std::vector<std::set<HostId>> by_gpus_;
  std::vector<std::set<HostId>> by_cores_;
  size_t most_gpus_ = 0;   // nothing above it in by_gpus_
  size_t most_cores_ = 0;  // nothing above it in by_cores_
  Resources free_;
};

}  // namespace fairlead::scheduling
