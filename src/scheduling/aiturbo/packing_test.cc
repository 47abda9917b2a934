// On which nodes the default variant puts jobs.
#include "scheduling/aiturbo/packing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduling/allocation_example.h"
#include "scheduling/node_pool.h"

namespace fairlead::scheduling::aiturbo {
namespace {

using testing::ElementsAre;

// T(1..4) = 4, 2, 1.5, 1 s; five GPUs lie on two nodes and take 2 s, of which 1 * 4/5 is computing: crossing costs
// 1.2 s.
std::vector<JobSize> SizesWithCrossing() { return {{1, 0, 4}, {2, 0, 2}, {3, 0, 1.5}, {4, 0, 1}, {5, 0, 2}}; }

AllocationPlan Pack(const AllocationSnapshot& snapshot, const std::vector<uint32_t>& gpus) {
  AllocationPlan plan = BeginPlan(snapshot);
  for (size_t j = 0; j < gpus.size(); ++j) plan.jobs[j].resources = {gpus[j], 0};
  PackNodes(snapshot, BySubmission(snapshot), 2, &plan);
  return plan;
}

TEST(NodePoolTest, TheDenseRuleTakesFewNodesAndLeavesWholeOnes) {
  IdVector<HostId, NodeCapacity> nodes;
  nodes.assign(3, {4, 64, 0});
  NodePool pool(nodes);
  ASSERT_TRUE(pool.TakeShares({{HostId(1), 2, 0}}));
  // Two GPUs fill node 1; the rule of Take would have opened node 0.
  EXPECT_THAT(*pool.TakeDense({2, 0}), ElementsAre(NodeShare{HostId(1), 2, 0}));
  EXPECT_THAT(*pool.TakeDense({6, 12}), ElementsAre(NodeShare{HostId(0), 4, 8}, NodeShare{HostId(2), 2, 4}));
  EXPECT_FALSE(pool.TakeDense({3, 0}).has_value());
  EXPECT_EQ(pool.free().num_gpus, 2u);
}

// A GPU with 20 cores fits on no node of 16. Its worker needs 5 of them beside it, the other 15 are of servers: node 0
// gives the GPU with 5, and then node 1 has most free cores.
TEST(NodePoolTest, CoresOfServersMayBeOnOtherHosts) {
  IdVector<HostId, NodeCapacity> nodes;
  nodes.assign(2, {4, 16, 0});
  NodePool pool(nodes);
  EXPECT_FALSE(pool.Take({1, 20}).has_value());
  EXPECT_FALSE(pool.Take({1, 20}, 17).has_value());
  EXPECT_EQ(pool.free(), (Resources{8, 32}));
  EXPECT_THAT(*pool.Take({1, 20}, 5), ElementsAre(NodeShare{HostId(0), 1, 5}, NodeShare{HostId(1), 0, 15}));
  // Where all fit beside the GPU, they are there.
  EXPECT_THAT(*pool.TakeDense({1, 8}, 5), ElementsAre(NodeShare{HostId(0), 1, 8}));
}

TEST(PackingTest, LargeJobsComeFirst) {
  ExampleSnapshot example(2, 4);
  example.AddJob(4, 1, 100);
  example.AddJob(4, 1, 100);
  const AllocationPlan plan = Pack(example.snapshot, {2, 4});
  EXPECT_THAT(plan.jobs[1].nodes, ElementsAre(NodeShare{HostId(0), 4, 0}));
  EXPECT_THAT(plan.jobs[0].nodes, ElementsAre(NodeShare{HostId(1), 2, 0}));
}

// Three GPUs of one node take 1.5 s, four of two nodes 1 + 1.2 s.
TEST(PackingTest, RunsSmallerInOneNodeWhereThatIsFaster) {
  ExampleSnapshot example(2, 4);
  AllocationJob& wide = example.AddJob(2, 1, 100);
  wide.current = {{HostId(0), 1, 0}, {HostId(1), 1, 0}};
  example.AddJobWith(SizesWithCrossing(), 100);
  const AllocationPlan plan = Pack(example.snapshot, {2, 4});
  EXPECT_THAT(plan.jobs[1].nodes, ElementsAre(NodeShare{HostId(0), 3, 0}));
  EXPECT_EQ(plan.jobs[1].resources.num_gpus, 3u);
}

// Next time it is cut to what it has, and stays where it is.
TEST(PackingTest, ACutJobIsNotMovedAround) {
  ExampleSnapshot example(2, 4);
  AllocationJob& wide = example.AddJob(2, 1, 100);
  wide.current = {{HostId(0), 1, 0}, {HostId(1), 1, 0}};
  AllocationJob& cut = example.AddJobWith(SizesWithCrossing(), 100);
  cut.current = {{HostId(1), 3, 0}};
  EXPECT_EQ(Pack(example.snapshot, {2, 4}).jobs[1].nodes, cut.current);
}

// Two restarts of 30 s are worth 60 s: 50 iterations with 1.2 s of crossing are not, 51 are.
TEST(PackingTest, MovesAScatteredJobWhereThatPays) {
  for (const auto& [remaining, moves] : {std::pair(50.0, false), std::pair(51.0, true)}) {
    ExampleSnapshot example(3, 4);
    AllocationJob& job = example.AddJobWith(SizesWithCrossing(), remaining);
    job.current = {{HostId(0), 2, 0}, {HostId(1), 2, 0}};
    EXPECT_EQ(Pack(example.snapshot, {4}).jobs[0].nodes.size(), moves ? 1u : 2u) << remaining;
  }
}

// Perfect scaling across nodes: nothing to gain.
TEST(PackingTest, LeavesJobsThatDoNotMind) {
  ExampleSnapshot example(3, 4);
  AllocationJob& job = example.AddJob(8, 1, 1e6);
  job.current = {{HostId(0), 2, 0}, {HostId(1), 2, 0}};
  EXPECT_EQ(Pack(example.snapshot, {4}).jobs[0].nodes, job.current);
}

}  // namespace
}  // namespace fairlead::scheduling::aiturbo
