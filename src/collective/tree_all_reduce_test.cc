#include "collective/tree_all_reduce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <vector>

namespace fairlead::collective {
namespace {

constexpr uint32_t kMaxNodes = 200;

std::vector<uint32_t> CountChildren(const std::vector<uint32_t>& parents) {
  std::vector<uint32_t> children(parents.size(), 0);
  for (uint32_t node = 0; node < parents.size(); ++node) {
    if (parents[node] != node) ++children[parents[node]];
  }
  return children;
}

TEST(DoubleBinaryTreeTest, BothAreBinaryTreesOfLogarithmicDepth) {
  for (uint32_t n = 1; n <= kMaxNodes; ++n) {
    const DoubleBinaryTree trees = MakeDoubleBinaryTree(n);
    for (const std::vector<uint32_t>& parents : trees.parents) {
      ASSERT_EQ(parents.size(), n);
      uint32_t roots = 0;
      for (uint32_t node = 0; node < n; ++node) {
        roots += parents[node] == node ? 1 : 0;
        // Each step to the parent moves the lowest set bit of the (relabelled) node up, so there are no more steps than
        // bits: ceil(log2 n).
        uint32_t depth = 0;
        for (uint32_t at = node; parents[at] != at; at = parents[at]) ASSERT_LE(++depth, std::bit_width(n - 1));
      }
      EXPECT_EQ(roots, 1u) << n;
      for (const uint32_t children : CountChildren(parents)) EXPECT_LE(children, 2u) << n;
    }
  }
}

// The property of NCCL's double tree: inside in one, leaf in the other. For even n exactly n/2 nodes are inside each;
// for odd n (n+1)/2 are, so the sets must meet: in node 0 alone.
TEST(DoubleBinaryTreeTest, NodesAreInsideOneTreeOnly) {
  for (uint32_t n = 2; n <= kMaxNodes; ++n) {
    const DoubleBinaryTree trees = MakeDoubleBinaryTree(n);
    const auto first = CountChildren(trees.parents[0]);
    const auto second = CountChildren(trees.parents[1]);
    for (uint32_t node = 0; node < n; ++node) {
      const int inside = (first[node] > 0) + (second[node] > 0);
      EXPECT_EQ(inside, n % 2 == 1 && node == 0 ? 2 : 1) << "node " << node << " of " << n;
    }
  }
}

// n = 8 by hand: 1,3,5,7 are leaves; 1->2, 3->2, 2->4, 5->6, 7->6, 6->4, 4->0. The mirror image maps h to 7-h.
TEST(DoubleBinaryTreeTest, EightNodes) {
  const DoubleBinaryTree trees = MakeDoubleBinaryTree(8);
  EXPECT_EQ(trees.parents[0], (std::vector<uint32_t>{0, 2, 4, 2, 0, 6, 4, 6}));
  EXPECT_EQ(trees.parents[1], (std::vector<uint32_t>{1, 3, 1, 7, 5, 3, 5, 7}));
}

// Executes one tree: reduce along the flows towards `root`, then broadcast; every rank must end with every
// contribution.
void ExpectTreeSumsEverything(const std::map<uint32_t, std::set<uint32_t>>& neighbours, size_t num_ranks) {
  ASSERT_EQ(neighbours.size(), num_ranks);
  std::vector<std::pair<uint32_t, uint32_t>> order = {{neighbours.begin()->first, UINT32_MAX}};  // (rank, parent)
  size_t edges = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    for (const uint32_t next : neighbours.at(order[i].first)) {
      ++edges;
      if (next != order[i].second) order.emplace_back(next, order[i].first);
    }
    ASSERT_LE(order.size(), num_ranks) << "a cycle: a contribution would be counted twice";
  }
  ASSERT_EQ(edges, 2 * (num_ranks - 1));
  std::map<uint32_t, std::multiset<uint32_t>> sum;
  for (const auto& [rank, parent] : order) sum[rank] = {rank};
  for (size_t i = order.size(); i-- > 1;) sum[order[i].second].merge(std::multiset(sum[order[i].first]));
  for (size_t i = 1; i < order.size(); ++i) sum[order[i].first] = sum[order[i].second];
  for (const auto& [rank, parent] : order) EXPECT_EQ(sum[rank].size(), num_ranks);
}

TEST(TreeAllReduceTest, TwoSpanningTreesEachWithHalfOfTheData) {
  for (uint32_t hosts = 1; hosts <= 9; ++hosts) {
    for (uint32_t gpus = 1; gpus <= 8; ++gpus) {
      const Communicator ranks = MakeRegularLayout(hosts, gpus).ranks;
      if (ranks.size() == 1) continue;
      FlowSet set;
      AppendTreeAllReduce(ranks, Bytes(1000), set);
      ASSERT_EQ(set.num_groups, 2u);
      ASSERT_EQ(set.flows.size(), 4 * (ranks.size() - 1));
      std::map<uint32_t, std::set<uint32_t>> neighbours[2];
      for (const auto& flow : set.flows) {
        EXPECT_EQ(flow.bytes, Bytes(500));
        neighbours[flow.group][flow.source.value()].insert(flow.destination.value());
      }
      for (const auto& tree : neighbours) ExpectTreeSumsEverything(tree, ranks.size());
    }
  }
}

// Tree 1: a host has at most a parent and two children: 3 edges of S/2; in tree 2 it is a leaf: 1 edge. 2 S in all.
// Host 0 of an odd number: root with one child, and inside the other tree with a parent and at most two: also 4 edges.
TEST(TreeAllReduceTest, NoHostSendsMoreThanTwiceTheDataOnTheNetwork) {
  for (uint32_t hosts = 2; hosts <= 33; ++hosts) {
    FlowSet set;
    AppendTreeAllReduce(MakeRegularLayout(hosts, 4).ranks, Bytes(1), set);
    std::vector<double> sent(hosts, 0);
    std::set<uint32_t> speakers;
    for (const auto& flow : set.flows) {
      if (flow.source.value() / 4 == flow.destination.value() / 4) continue;
      sent[flow.source.value() / 4] += flow.bytes.value();
      speakers.insert(flow.source.value() % 4);
    }
    EXPECT_LE(*std::max_element(sent.begin(), sent.end()), 2.0) << hosts;
    EXPECT_EQ(speakers, (std::set<uint32_t>{0, 2}));  // the second chain starts half a host further
  }
}

}  // namespace
}  // namespace fairlead::collective
