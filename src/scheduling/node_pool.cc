#include "scheduling/node_pool.h"

#include <algorithm>

#include "base/check.h"

namespace fairlead::scheduling {
namespace {

// Adds to the job's share of this node, or begins one.
void AddShare(HostId node, uint32_t gpus, uint32_t cores, std::vector<NodeShare>* shares) {
  const auto share = std::ranges::find(*shares, node, &NodeShare::node);
  if (share == shares->end()) {
    shares->push_back({node, gpus, cores});
    return;
  }
  share->num_gpus += gpus;
  share->num_cores += cores;
}

}  // namespace

NodePool::NodePool(const IdVector<HostId, NodeCapacity>& nodes) : nodes_(nodes.size()) {
  for (const NodeCapacity& node : nodes) {
    most_gpus_ = std::max<size_t>(most_gpus_, node.num_gpus);
    most_cores_ = std::max<size_t>(most_cores_, node.num_cores);
  }
  by_gpus_.resize(most_gpus_ + 1);
  by_cores_.resize(most_cores_ + 1);
  for (size_t n = 0; n < nodes.size(); ++n) {
    const NodeCapacity& node = nodes[HostId(n)];
    nodes_[HostId(n)] = {node.num_gpus, node.num_cores};
    free_ = free_ + Resources{node.num_gpus, node.num_cores};
    // Ids ascend, so the end is the right place: linear in all.
    if (node.num_gpus > 0) by_gpus_[node.num_gpus].insert(by_gpus_[node.num_gpus].end(), HostId(n));
    if (node.num_cores > 0) by_cores_[node.num_cores].insert(by_cores_[node.num_cores].end(), HostId(n));
  }
}

void NodePool::Change(HostId node, int64_t gpus, int64_t cores) {
  NodeFree& free = nodes_[node];
  FL_CHECK(int64_t{free.num_gpus} + gpus >= 0 && int64_t{free.num_cores} + cores >= 0);
  if (gpus != 0) {
    by_gpus_[free.num_gpus].erase(node);
    free.num_gpus = static_cast<uint32_t>(free.num_gpus + gpus);
    if (free.num_gpus > 0) by_gpus_[free.num_gpus].insert(node);
    most_gpus_ = std::max<size_t>(most_gpus_, free.num_gpus);
    while (most_gpus_ > 0 && by_gpus_[most_gpus_].empty()) --most_gpus_;
  }
  if (cores != 0) {
    by_cores_[free.num_cores].erase(node);
    free.num_cores = static_cast<uint32_t>(free.num_cores + cores);
    if (free.num_cores > 0) by_cores_[free.num_cores].insert(node);
    most_cores_ = std::max<size_t>(most_cores_, free.num_cores);
    while (most_cores_ > 0 && by_cores_[most_cores_].empty()) --most_cores_;
  }
  free_.num_gpus = static_cast<uint64_t>(static_cast<int64_t>(free_.num_gpus) + gpus);
  free_.num_cores = static_cast<uint64_t>(static_cast<int64_t>(free_.num_cores) + cores);
}

bool NodePool::TakeShares(const std::vector<NodeShare>& shares) {
  for (size_t i = 0; i < shares.size(); ++i) {
    const NodeShare& share = shares[i];
    if (nodes_[share.node].num_gpus < share.num_gpus || nodes_[share.node].num_cores < share.num_cores) {
      Release({shares.begin(), shares.begin() + static_cast<ptrdiff_t>(i)});
      return false;
    }
    Change(share.node, -int64_t{share.num_gpus}, -int64_t{share.num_cores});
  }
  return true;
}

void NodePool::Release(const std::vector<NodeShare>& shares) {
  for (const NodeShare& share : shares) Change(share.node, share.num_gpus, share.num_cores);
}

HostId NodePool::FindNodeForGpus(uint64_t cores_per_gpu) const {
  HostId best;
  uint64_t most = 0;
  for (size_t g = most_gpus_; g > most; --g) {
    for (const HostId node : by_gpus_[g]) {
      const uint64_t given = cores_per_gpu == 0 ? g : std::min<uint64_t>(g, nodes_[node].num_cores / cores_per_gpu);
      if (given > most) {
        most = given;
        best = node;
      }
      if (most == g) return best;
    }
  }
  return best;
}

HostId NodePool::FindTightestNode(uint64_t num_gpus, uint64_t cores_per_gpu) const {
  for (size_t g = num_gpus; g <= most_gpus_; ++g) {
    for (const HostId node : by_gpus_[g]) {
      if (nodes_[node].num_cores >= num_gpus * cores_per_gpu) return node;
    }
  }
  return HostId();
}

bool NodePool::TakeGpus(Rule rule, uint64_t num_gpus, uint64_t cores_per_gpu, std::vector<NodeShare>* shares) {
  while (num_gpus > 0) {
    HostId node = rule == Rule::kDense ? FindTightestNode(num_gpus, cores_per_gpu) : HostId();
    if (!node.valid()) node = FindNodeForGpus(cores_per_gpu);
    if (!node.valid()) return false;
    uint64_t given = std::min<uint64_t>(num_gpus, nodes_[node].num_gpus);
    if (cores_per_gpu > 0) given = std::min<uint64_t>(given, nodes_[node].num_cores / cores_per_gpu);
    const uint64_t cores = given * cores_per_gpu;
    Change(node, -static_cast<int64_t>(given), -static_cast<int64_t>(cores));
    AddShare(node, static_cast<uint32_t>(given), static_cast<uint32_t>(cores), shares);
    num_gpus -= given;
  }
  return true;
}

bool NodePool::TakeCores(uint64_t num_cores, std::vector<NodeShare>* shares) {
  while (num_cores > 0) {
    if (most_cores_ == 0) return false;
    const HostId node = *by_cores_[most_cores_].begin();
    const uint64_t given = std::min<uint64_t>(num_cores, nodes_[node].num_cores);
    Change(node, 0, -static_cast<int64_t>(given));
    AddShare(node, 0, static_cast<uint32_t>(given), shares);
    num_cores -= given;
  }
  return true;
}

std::optional<std::vector<NodeShare>> NodePool::TakeWith(Rule rule, const Resources& wanted, uint64_t cores_per_gpu) {
  std::vector<NodeShare> shares;
  const uint64_t other_cores = wanted.num_cores - cores_per_gpu * wanted.num_gpus;
  if (TakeGpus(rule, wanted.num_gpus, cores_per_gpu, &shares) && TakeCores(other_cores, &shares)) return shares;
  Release(shares);
  return std::nullopt;
}

std::optional<std::vector<NodeShare>> NodePool::TakeBy(Rule rule, const Resources& wanted,
                                                       std::optional<uint32_t> least_per_gpu) {
  if (!wanted.Fits(free_)) return std::nullopt;
  const uint64_t cores_per_gpu = wanted.num_gpus > 0 ? wanted.num_cores / wanted.num_gpus : 0;
  auto shares = TakeWith(rule, wanted, cores_per_gpu);
  if (shares || !least_per_gpu || *least_per_gpu >= cores_per_gpu) return shares;
  return TakeWith(rule, wanted, *least_per_gpu);
}

std::optional<std::vector<NodeShare>> NodePool::Take(const Resources& wanted, std::optional<uint32_t> least_per_gpu) {
  return TakeBy(Rule::kEmptiest, wanted, least_per_gpu);
}

std::optional<std::vector<NodeShare>> NodePool::TakeDense(const Resources& wanted,
                                                          std::optional<uint32_t> least_per_gpu) {
  return TakeBy(Rule::kDense, wanted, least_per_gpu);
}

}  // namespace fairlead::scheduling
