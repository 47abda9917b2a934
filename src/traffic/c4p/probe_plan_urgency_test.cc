#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <span>
#include <vector>

#include "base/random.h"
#include "traffic/c4p/probe_plan.h"
#include "traffic/c4p/probe_plan_example.h"

namespace fairlead::traffic::c4p {
namespace {

using testing::SizeIs;
using topology::Fabric;
using topology::NodeKind;

TEST(ProbePlanUrgencyTest, ChangedLeafGoesFirst) {
  const Fabric fabric = Clos(10, 2);
  const NodeId leaf = fabric.switches(NodeKind::kLeaf)[3];
  ProbePlan plan(fabric, {.max_probes_per_round = 20, .urgent_share = 0.5});
  ASSERT_TRUE(plan.ReprobeLeaf(leaf));
  // 18 pairs touch it, 10 of them go in this round, then 8; the mesh gets the rest.
  std::set<PairKey> urgent;
  for (const uint64_t expected : {10u, 8u, 0u}) {
    ProbeRound done;
    std::vector<ProbePair> pairs = Round(&plan, View(), &done);
    EXPECT_THAT(KeysOf(pairs), SizeIs(20));
    EXPECT_EQ(done.num_urgent_pairs, expected);
    for (const ProbePair& pair : std::span(pairs).first(expected)) {
      EXPECT_TRUE(pair.source_leaf == leaf || pair.destination_leaf == leaf);
      urgent.insert(KeyOf(pair));
    }
  }
  EXPECT_THAT(urgent, SizeIs(18));
  EXPECT_EQ(plan.num_urgent_leaves(), 0u);
}

TEST(ProbePlanUrgencyTest, PairsOfTwoChangedLeavesGoOnce) {
  const Fabric fabric = Clos(10, 2);
  const auto leaves = fabric.switches(NodeKind::kLeaf);
  ProbePlan plan(fabric, {.max_probes_per_round = 8, .urgent_share = 0.5});
  plan.ReprobeLeaf(leaves[2]);
  plan.ReprobeLeaf(leaves[7]);
  std::map<PairKey, int> urgent;
  while (plan.num_urgent_leaves() > 0) {
    ProbeRound done;
    const std::vector<ProbePair> pairs = Round(&plan, View(), &done);
    for (uint64_t i = 0; i < done.num_urgent_pairs; ++i) ++urgent[KeyOf(pairs[i])];
  }
  EXPECT_THAT(urgent, SizeIs(2 * 18 - 2));
  for (const auto& [key, count] : urgent) EXPECT_EQ(count, 1);
}

TEST(ProbePlanUrgencyTest, LinksNameTheirLeaves) {
  topology::ClosSpec spec;
  spec.pods = 2;
  spec.leaves = 3;
  spec.spines = 2;
  spec.cores = 2;
  const Fabric fabric = topology::BuildClos(spec).value();
  ProbePlan plan(fabric, {});
  EXPECT_TRUE(plan.ReprobeAround(fabric.FindLink("leaf4->spine2")));
  EXPECT_EQ(plan.num_urgent_leaves(), 1u);
  EXPECT_TRUE(plan.ReprobeAround(fabric.reverse(fabric.FindLink("leaf4->spine2"))));
  EXPECT_EQ(plan.num_urgent_leaves(), 1u);
  EXPECT_TRUE(plan.ReprobeAround(fabric.FindLink("core0->spine0")));  // the three leaves of the other pod
  EXPECT_EQ(plan.num_urgent_leaves(), 4u);
  EXPECT_FALSE(plan.ReprobeAround(LinkId()));
  EXPECT_FALSE(plan.ReprobeAround(LinkId(0)));  // inside a host
  EXPECT_FALSE(plan.ReprobeLeaf(NodeId()));
}

// However leaves change, every pair has its turn: in the mesh, and among the urgent ones.
TEST(ProbePlanUrgencyTest, NothingStarvesWhileLeavesKeepChanging) {
  const Fabric fabric = Clos(6, 3);  // 30 pairs
  const auto leaves = fabric.switches(NodeKind::kLeaf);
  Random random(13);
  for (int trial = 0; trial < 20; ++trial) {
    ProbePlan plan(fabric, {.max_probes_per_round = 1 + random.Below(9), .urgent_share = random.Uniform(0.1, 1)});
    const uint64_t num_changing = 1 + random.Below(6);
    std::map<PairKey, int> by_mesh;
    std::map<PairKey, int> urgent;
    for (int round = 0; round < 1000; ++round) {
      for (uint64_t l = 0; l < num_changing; ++l) plan.ReprobeLeaf(leaves[l]);
      ProbeRound done;
      const std::vector<ProbePair> pairs = Round(&plan, View(), &done);
      KeysOf(pairs);
      for (size_t i = 0; i < pairs.size(); ++i) ++(i < done.num_urgent_pairs ? urgent : by_mesh)[KeyOf(pairs[i])];
    }
    for (uint32_t a = 0; a < 6; ++a) {
      for (uint32_t b = 0; b < 6; ++b) {
        if (a == b) continue;
        const PairKey key{0, leaves[a], leaves[b]};
        EXPECT_GT(by_mesh[key] + urgent[key], 20);
        // Of two changing leaves either may leave the pair to the other; but the mesh has it every 30 rounds.
        const bool one_urgent = (a < num_changing) != (b < num_changing);
        EXPECT_TRUE(!one_urgent || urgent[key] > 0);
      }
    }
  }
}

// Whatever changes at any time: in the end every pair of a changed leaf has been probed after its last change.
TEST(ProbePlanUrgencyTest, EveryChangeIsSeenThrough) {
  const Fabric fabric = Clos(5, 3);
  const auto leaves = fabric.switches(NodeKind::kLeaf);
  Random random(19);
  for (int trial = 0; trial < 200; ++trial) {
    ProbePlan plan(fabric, {.max_probes_per_round = 1 + random.Below(12), .urgent_share = random.Uniform(0.1, 1)});
    std::map<NodeId, int> changed_before;  // [leaf] the first round that can tell
    std::map<PairKey, int> urgent;         // [pair] the last round that had it
    for (int round = 1; round <= 30 || plan.num_urgent_leaves() > 0; ++round) {
      ASSERT_LT(round, 1000);
      for (uint64_t n = round <= 30 ? random.Below(3) : 0; n > 0; --n) {
        const NodeId leaf = leaves[random.Below(5)];
        ASSERT_TRUE(plan.ReprobeLeaf(leaf));
        changed_before[leaf] = round;
      }
      ProbeRound done;
      const std::vector<ProbePair> pairs = Round(&plan, View(), &done);
      KeysOf(pairs);
      for (uint64_t i = 0; i < done.num_urgent_pairs; ++i) urgent[KeyOf(pairs[i])] = round;
    }
    for (const auto& [leaf, round] : changed_before) {
      for (const NodeId other : leaves) {
        if (other == leaf) continue;
        EXPECT_GE((urgent[{0, leaf, other}]), round);
        EXPECT_GE((urgent[{0, other, leaf}]), round);
      }
    }
  }
}

}  // namespace
}  // namespace fairlead::traffic::c4p
