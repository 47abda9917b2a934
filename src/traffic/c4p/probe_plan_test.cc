#include "traffic/c4p/probe_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "topology/fabric_builder.h"
#include "traffic/c4p/coupon_collector.h"
#include "traffic/c4p/probe_plan_example.h"
#include "traffic/source_ports.h"

namespace fairlead::traffic::c4p {
namespace {

using testing::IsEmpty;
using testing::SizeIs;
using topology::Fabric;
using topology::NodeKind;

NodeId LeafOf(const Fabric& fabric, NicId nic, uint32_t plane) {
  for (const LinkId link : fabric.links_from(fabric.node_of(nic))) {
    if (topology::IsNetwork(fabric.tier(link)) && plane-- == 0) return fabric.destination(link);
  }
  return NodeId();
}

TEST(ProbePlanTest, OneRoundIsTheFullMeshOfEachPlane) {
  // Per plane 3 segments * 2 rails = 6 leaves, 30 ordered pairs, whether planes share their spines or not.
  for (const bool shared_planes : {false, true}) {
    const Fabric fabric = Rails(3, 4, shared_planes);
    ProbePlan plan(fabric, {});
    EXPECT_EQ(plan.num_pairs(), 60u);
    const std::vector<ProbePair> pairs = Round(&plan);
    EXPECT_THAT(KeysOf(pairs), SizeIs(60));
    for (const ProbePair& pair : pairs) {
      EXPECT_EQ(LeafOf(fabric, pair.source, pair.plane), pair.source_leaf);
      EXPECT_EQ(LeafOf(fabric, pair.destination, pair.plane), pair.destination_leaf);
      EXPECT_NE(pair.source_leaf, pair.destination_leaf);
      EXPECT_NE(fabric.host_of(pair.source), fabric.host_of(pair.destination));
      EXPECT_TRUE(IsSteeringPort(pair.first_source_port));
    }
  }
}

TEST(ProbePlanTest, OneLeafHasNothingToProbe) {
  const Fabric fabric = Clos(1, 4);
  ProbePlan plan(fabric, {});
  EXPECT_EQ(plan.num_pairs(), 0u);
  EXPECT_THAT(Round(&plan), IsEmpty());
  EXPECT_FALSE(plan.ReprobeLeaf(fabric.switches(NodeKind::kLeaf)[0]));
}

// Two bonded hosts; what a leaf without hosts and one apart from the others do.
TEST(ProbePlanTest, LeavesWithoutHostsOrPathsAreLeftOut) {
  topology::HostSpec spec = topology::RailHostSpec();
  spec.gpus = spec.nics = spec.pcie_switches = spec.sockets = 1;
  topology::FabricBuilder builder;
  const std::vector<NodeId> leaves = builder.AddSwitches(NodeKind::kLeaf, 4);
  const NodeId spine = builder.AddSwitch(NodeKind::kSpine);
  for (uint32_t h = 0; h < 2; ++h) {
    const HostId host = builder.AddHost(spec);
    builder.AddCable(builder.nic(host, 0), leaves[h], spec.port_speed);              // plane 0: leaves 0 and 1
    builder.AddCable(builder.nic(host, 0), leaves[size_t{2} * h], spec.port_speed);  // plane 1: leaves 0 and 2
  }
  for (const uint32_t leaf : {0, 1, 3}) builder.AddCable(leaves[leaf], spine, spec.port_speed);
  const Fabric fabric = std::move(builder).Build().value();
  ProbePlan plan(fabric, {});
  // Leaf 3 has no host, leaf 2 no cable to a spine.
  EXPECT_EQ(KeysOf(Round(&plan)), (std::set<PairKey>{{0, leaves[0], leaves[1]}, {0, leaves[1], leaves[0]}}));
  EXPECT_FALSE(plan.ReprobeLeaf(leaves[3]));
  // Nor is there anything to probe where failures leave no path.
  const ProbeView one_way = {.num_paths = [&](NodeId from, NodeId) { return from == leaves[0] ? 1u : 0u; },
                             .can_probe = nullptr};
  EXPECT_EQ(KeysOf(Round(&plan, one_way)), (std::set<PairKey>{{0, leaves[0], leaves[1]}}));
  EXPECT_THAT(Round(&plan, View(0)), IsEmpty());
}

TEST(ProbePlanTest, HostsTakeTurns) {
  constexpr uint32_t kHosts = 7;
  const Fabric fabric = Clos(3, kHosts);
  ProbePlan plan(fabric, {.seed = 5});
  std::set<std::vector<NicId>> orders;
  for (int turn = 0; turn < 20; ++turn) {
    std::map<NodeId, std::vector<NicId>> drawn;  // [leaf], in the order of rounds
    for (uint32_t round = 0; round < kHosts; ++round) {
      std::map<NodeId, std::set<NicId>> of_round;
      for (const ProbePair& pair : Round(&plan)) {
        of_round[pair.source_leaf].insert(pair.source);
        of_round[pair.destination_leaf].insert(pair.destination);
      }
      for (const auto& [leaf, nics] : of_round) {
        ASSERT_THAT(nics, SizeIs(1));  // one host of each leaf does the work of a round
        drawn[leaf].push_back(*nics.begin());
      }
    }
    for (const auto& [leaf, nics] : drawn) {
      EXPECT_THAT(std::set<NicId>(nics.begin(), nics.end()), SizeIs(kHosts));
      orders.insert(nics);
    }
  }
  // 42 orders (7 starts, 6 strides) for each of three leaves, 20 drawn of each: 42 (1 - (41/42)^20) = 16 on average.
  EXPECT_GT(orders.size(), 3u * 10);
}

TEST(ProbePlanTest, HostsThatCanNotProbeAreReplaced) {
  const Fabric fabric = Clos(2, 4);
  ProbePlan plan(fabric, {});
  ProbeView view = View();
  view.can_probe = [](NicId nic, uint32_t plane) { return plane == 0 && nic.value() % 4 == 2; };
  for (int round = 0; round < 8; ++round) {
    for (const ProbePair& pair : Round(&plan, view)) EXPECT_EQ(pair.source.value() % 4, 2u);
  }
  view.can_probe = [](NicId nic, uint32_t) { return nic.value() < 4; };  // the second leaf has none
  EXPECT_THAT(Round(&plan, view), IsEmpty());
}

TEST(ProbePlanTest, BothEndsAreNeverOnOneHost) {
  // A lone host is all that its two rails have: no traffic between them would cross the fabric.
  const Fabric alone = Rails(1, 1);
  ProbePlan plan(alone, {});
  EXPECT_EQ(plan.num_pairs(), 4u);
  EXPECT_THAT(Round(&plan), IsEmpty());
  const Fabric two = Rails(1, 2);
  ProbePlan larger(two, {});
  for (int round = 0; round < 50; ++round) {
    const std::vector<ProbePair> pairs = Round(&larger);
    EXPECT_THAT(pairs, SizeIs(4));
    for (const ProbePair& pair : pairs) EXPECT_NE(two.host_of(pair.source), two.host_of(pair.destination));
  }
}

TEST(ProbePlanTest, PortsSuffice) {
  const Fabric fabric = Clos(2, 1);
  ProbePlan plan(fabric, {.miss_probability = 0.02, .max_ports_per_pair = 100});
  EXPECT_EQ(Round(&plan, View(1)).at(0).num_source_ports, 1u);
  EXPECT_EQ(Round(&plan, View(8)).at(0).num_source_ports, DrawsToSeeAll(8, 0.02));
  EXPECT_EQ(Round(&plan, View(1000)).at(0).num_source_ports, 100u);
  // Other ports in each round, so that a limit hides no path forever.
  std::set<uint16_t> first;
  for (int round = 0; round < 50; ++round) first.insert(Round(&plan).at(0).first_source_port);
  EXPECT_GT(first.size(), 45u);
}

TEST(ProbePlanTest, BudgetSpreadsTheMeshOverRounds) {
  const Fabric fabric = Clos(9, 2);  // 72 pairs
  const uint64_t ports = DrawsToSeeAll(4, 0.01);
  ProbePlan plan(fabric, {.max_probes_per_round = 10 * ports + 1});
  std::map<PairKey, int> seen;
  for (int round = 0; round < 36; ++round) {
    ProbeRound done;
    const std::vector<ProbePair> pairs = Round(&plan, View(4), &done);
    EXPECT_THAT(KeysOf(pairs), SizeIs(10));
    EXPECT_EQ(done.num_probes, 10 * ports);
    EXPECT_EQ(done.num_urgent_pairs, 0u);
    for (const ProbePair& pair : pairs) ++seen[KeyOf(pair)];
    // Round-robin: none is ahead of another by more than one.
    const auto [least, most] =
        std::minmax_element(seen.begin(), seen.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    EXPECT_LE(most->second - (seen.size() == 72 ? least->second : 0), 1);
  }
  EXPECT_THAT(seen, SizeIs(72));
  for (const auto& [key, count] : seen) EXPECT_EQ(count, 5);  // 36 rounds of 10 = 5 * 72
}

TEST(ProbePlanTest, PairTooLargeForTheBudgetGoesAlone) {
  const Fabric fabric = Clos(3, 1);
  ProbePlan plan(fabric, {.max_probes_per_round = 1});
  std::set<PairKey> seen;
  for (int round = 0; round < 6; ++round) {
    const std::vector<ProbePair> pairs = Round(&plan, View(16));
    ASSERT_THAT(pairs, SizeIs(1));
    seen.insert(KeyOf(pairs[0]));
  }
  EXPECT_THAT(seen, SizeIs(6));
}

TEST(ProbePlanTest, SameSeedSamePlan) {
  const Fabric fabric = Rails(2, 5);
  ProbePlan one(fabric, {.seed = 3, .max_probes_per_round = 7});
  ProbePlan two(fabric, {.seed = 3, .max_probes_per_round = 7});
  ProbePlan other(fabric, {.seed = 4, .max_probes_per_round = 7});
  int differences = 0;
  for (int round = 0; round < 20; ++round) {
    const std::vector<ProbePair> expected = Round(&one);
    EXPECT_EQ(Round(&two), expected);
    differences += Round(&other) != expected ? 1 : 0;
  }
  EXPECT_GT(differences, 10);
}

TEST(ProbePlanTest, OptionsNameTheirRange) {
  EXPECT_TRUE(ProbePlanOptions().Validate().ok());
  EXPECT_THAT(ProbePlanOptions{.miss_probability = 1}.Validate().message(), testing::HasSubstr("in (0, 1), found 1"));
  EXPECT_FALSE(ProbePlanOptions{.max_ports_per_pair = 0}.Validate().ok());
  EXPECT_FALSE(ProbePlanOptions{.max_probes_per_round = 0}.Validate().ok());
  EXPECT_FALSE(ProbePlanOptions{.urgent_share = 0}.Validate().ok());
}

}  // namespace
}  // namespace fairlead::traffic::c4p
