#include "collective/tree_all_reduce.h"

#include <algorithm>

namespace fairlead::collective {
namespace {

// Parent of `node` in the first tree over `n` nodes.
uint32_t BinaryTreeParent(uint32_t node, uint32_t n) {
  if (node == 0) return 0;
  const uint32_t lowest_bit = node & (~node + 1);
  const uint32_t cleared = node ^ lowest_bit;
  const uint32_t moved_up = cleared | (lowest_bit << 1);
  return moved_up < n ? moved_up : cleared;
}

void AddBothWays(const RankPlace& a, const RankPlace& b, Bytes bytes, uint32_t group, FlowSet& flows) {
  flows.Add(a, b, bytes, group);
  flows.Add(b, a, bytes, group);
}

// Edges from the root to the lowest host.
uint32_t DepthOf(std::span<const uint32_t> parents) {
  uint32_t depth = 0;
  for (uint32_t node = 0; node < parents.size(); ++node) {
    uint32_t edges = 0;
    for (uint32_t at = node; parents[at] != at; at = parents[at]) ++edges;
    depth = std::max(depth, edges);
  }
  return depth;
}

// Up to the root and down again.
void AppendTree(std::span<const Communicator> hosts, std::span<const uint32_t> parents, Bytes bytes, FlowSet& flows) {
  const uint32_t group = flows.NewGroup();
  flows.AddChain(2.0 * DepthOf(parents));
  for (size_t h = 0; h < hosts.size(); ++h) {
    const Communicator& chain = hosts[h];
    if (parents[h] != h) AddBothWays(chain.front(), hosts[parents[h]].front(), bytes, group, flows);
    for (size_t i = 1; i < chain.size(); ++i) AddBothWays(chain[i], chain[i - 1], bytes, group, flows);
  }
}

}  // namespace

DoubleBinaryTree MakeDoubleBinaryTree(uint32_t num_nodes) {
  const uint32_t n = num_nodes;
  DoubleBinaryTree trees;
  for (uint32_t node = 0; node < n; ++node) {
    trees.parents[0].push_back(BinaryTreeParent(node, n));
    if (n % 2 == 0) {
      trees.parents[1].push_back(n - 1 - BinaryTreeParent(n - 1 - node, n));
    } else {
      trees.parents[1].push_back((BinaryTreeParent((node + n - 1) % n, n) + 1) % n);
    }
  }
  return trees;
}

void AppendTreeAllReduce(std::span<const RankPlace> ranks, Bytes size, FlowSet& flows) {
  if (ranks.size() <= 1 || size <= Bytes(0)) return;
  std::vector<Communicator> hosts = GroupByHost(ranks);
  const DoubleBinaryTree trees = MakeDoubleBinaryTree(static_cast<uint32_t>(hosts.size()));
  AppendTree(hosts, trees.parents[0], size / 2, flows);
  for (Communicator& chain : hosts) {
    std::rotate(chain.begin(), chain.begin() + static_cast<std::ptrdiff_t>(chain.size() / 2), chain.end());
  }
  AppendTree(hosts, trees.parents[1], size / 2, flows);
}

}  // namespace fairlead::collective
