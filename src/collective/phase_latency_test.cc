#include "collective/phase_latency.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "collective/collective_kind.h"
#include "collective/queue_pairs.h"
#include "collective/simple_iteration.h"
#include "topology/clos_fabrics.h"

namespace fairlead::collective {
namespace {

constexpr MessageLatency kMessage = {.ends = Seconds(4e-6), .hop = Seconds(1e-6)};

// Two pods of two leaves of two hosts of eight GPUs.
topology::Fabric ThreeLayers() {
  return topology::BuildClos({.pods = 2, .leaves = 2, .hosts_per_leaf = 2, .spines = 2, .cores = 2}).value();
}

// Of one iteration among all GPUs of the given hosts.
double LatencyOf(const topology::Fabric& fabric, CollectiveKind kind, const std::vector<uint32_t>& hosts,
                 uint32_t queue_pairs = 1) {
  model::Placement placement;
  for (const uint32_t host : hosts) {
    for (uint32_t gpu = 0; gpu < 8; ++gpu) placement.gpus.emplace_back(host * 8 + gpu);
  }
  model::Iteration iteration =
      BuildSimpleIteration({.compute_time = Seconds(0.1), .size = Bytes(1e6), .collective = kind},
                           MakeRankLayout(placement, fabric), fabric.gpu_peak())
          .value();
  SplitIntoQueuePairs(queue_pairs, fabric, &iteration);
  SetLatencies(kMessage, topology::Router(fabric), &iteration);
  EXPECT_EQ(iteration.phases.size(), 1u);
  return iteration.phases.front().latency.value() * 1e6;
}

// One switch below a leaf, three over a spine, five over a core.
TEST(PhaseLatencyTest, OneMessageByTheSwitchesOnItsWay) {
  const topology::Fabric fabric = ThreeLayers();
  EXPECT_DOUBLE_EQ(LatencyOf(fabric, CollectiveKind::kAllToAll, {0, 1}), 5);
  EXPECT_DOUBLE_EQ(LatencyOf(fabric, CollectiveKind::kAllToAll, {0, 2}), 7);
  EXPECT_DOUBLE_EQ(LatencyOf(fabric, CollectiveKind::kAllToAll, {0, 4}), 9);
  EXPECT_DOUBLE_EQ(LatencyOf(fabric, CollectiveKind::kAllToAll, {0, 1, 2, 4}), 9);  // the longest
  EXPECT_DOUBLE_EQ(LatencyOf(fabric, CollectiveKind::kSendReceive, {0, 1}), 5);
  EXPECT_DOUBLE_EQ(LatencyOf(fabric, CollectiveKind::kAllToAll, {0}), 0);  // never leaves the host
  EXPECT_DOUBLE_EQ(LatencyOf(fabric, CollectiveKind::kRingAllReduce, {0}), 0);
}

// n = 8h ranks: 2(n-1) steps on a flat ring, 2(h-1) on rails, up and down a tree, or up and down at once.
TEST(PhaseLatencyTest, StepsOfCollectives) {
  const topology::Fabric fabric = ThreeLayers();
  const std::vector<uint32_t> hosts = {0, 1, 2, 3};  // of a pod: 7 us a message
  const std::map<CollectiveKind, double> steps = {
      {CollectiveKind::kRingAllReduce, 62},        {CollectiveKind::kRingReduceScatter, 31},
      {CollectiveKind::kRingAllGather, 31},        {CollectiveKind::kBroadcast, 31},
      {CollectiveKind::kHierarchicalAllReduce, 6}, {CollectiveKind::kHierarchicalReduceScatter, 3},
      {CollectiveKind::kHierarchicalAllGather, 3}, {CollectiveKind::kTreeAllReduce, 4},
      {CollectiveKind::kInNetworkAllReduce, 1},    {CollectiveKind::kAllToAll, 1},
      {CollectiveKind::kRailAllToAll, 1},          {CollectiveKind::kSendReceive, 1}};
  EXPECT_EQ(steps.size(), CollectiveNames().size());
  for (const auto& [kind, expected] : steps) {
    EXPECT_DOUBLE_EQ(LatencyOf(fabric, kind, hosts), 7 * expected) << Name(kind);
    EXPECT_DOUBLE_EQ(LatencyOf(fabric, kind, hosts, 4), 7 * expected) << Name(kind) << " with queue pairs";
  }
}

// The latency of a tree grows with the logarithm of the hosts, that of rings with their number.
TEST(PhaseLatencyTest, TreesAreDeepAsLogarithms) {
  for (uint32_t num_hosts = 2; num_hosts <= 64; ++num_hosts) {
    FlowSet tree;
    AppendCollective(CollectiveKind::kTreeAllReduce, MakeRegularLayout(num_hosts, 8).ranks, Bytes(1), tree);
    const double log = std::log2(num_hosts);
    EXPECT_GE(tree.num_steps, 2 * std::floor(log)) << num_hosts;
    EXPECT_LE(tree.num_steps, 2 * std::ceil(log) + 2) << num_hosts;
  }
}

}  // namespace
}  // namespace fairlead::collective
