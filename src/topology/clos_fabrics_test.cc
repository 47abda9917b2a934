#include "topology/clos_fabrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "topology/locality.h"
#include "topology/rail_fabric.h"

namespace fairlead::topology {
namespace {

using ::testing::HasSubstr;

double GigabitsOf(const Fabric& fabric, std::string_view link) {
  const LinkId id = fabric.FindLink(link);
  EXPECT_TRUE(id.valid()) << link;
  return id.valid() ? fabric.capacity(id).value() * 8 / 1e9 : -1;
}

size_t CountTier(const Fabric& fabric, LinkTier tier) {
  size_t count = 0;
  for (size_t l = 0; l < fabric.num_links(); ++l) count += fabric.tier(LinkId(l)) == tier ? 1 : 0;
  return count;
}

// Law: with oversubscription x, what hangs below a switch is x times its uplinks.
void ExpectOversubscription(const Fabric& fabric, NodeKind kind, double expected) {
  for (const NodeId node : fabric.switches(kind)) {
    double down = 0;
    double up = 0;
    for (const LinkId link : fabric.links_from(node)) {
      (fabric.kind(fabric.destination(link)) > kind ? up : down) += fabric.capacity(link).value();
    }
    EXPECT_NEAR(down / up, expected, 1e-9) << fabric.NodeName(node);
  }
}

TEST(ClosTest, TwoLayersHaveTheCablesAndSpeedsOfTheirSpec) {
  ClosSpec spec{.leaves = 6, .hosts_per_leaf = 2, .spines = 8};
  spec.leaf_uplink.parallel = 2;
  const Fabric fabric = BuildClos(spec).value();
  EXPECT_EQ(fabric.num_hosts(), 12u);
  EXPECT_EQ(CountTier(fabric, LinkTier::kHostLeaf), 2u * 12 * 4);
  EXPECT_EQ(CountTier(fabric, LinkTier::kLeafSpine), 2u * 6 * 8 * 2);
  EXPECT_EQ(CountTier(fabric, LinkTier::kNvlink), 2u * 12 * 8);
  // 1:1: 2 hosts * 4 * 200 Gb/s = 1600 Gb/s over 16 uplinks.
  EXPECT_DOUBLE_EQ(GigabitsOf(fabric, "leaf5->spine7#2"), 100);
  EXPECT_DOUBLE_EQ(GigabitsOf(fabric, "h11/nic3->leaf5"), 200);
  EXPECT_DOUBLE_EQ(GigabitsOf(fabric, "h0/pcie0->h0/nic0"), 256);       // 32 GB/s
  EXPECT_DOUBLE_EQ(GigabitsOf(fabric, "h0/gpu0->h0/nvswitch0"), 2400);  // 300 GB/s
  EXPECT_EQ(fabric.num_leaf_groups(), 6u);
  EXPECT_EQ(fabric.leaf_group(HostId(5u)), 2u);
  EXPECT_EQ(fabric.num_pods(), 1u);
}

TEST(ClosTest, OversubscriptionSetsTheUplinkSpeed) {
  for (const double x : {0.5, 1.0, 2.0, 3.7}) {
    ClosSpec spec{.pods = 3, .leaves = 4, .hosts_per_leaf = 3, .spines = 5, .cores = 10};
    spec.leaf_uplink = {.parallel = 3, .oversubscription = x};
    spec.core_uplink.oversubscription = 2 * x;
    const Fabric fabric = BuildClos(spec).value();
    ExpectOversubscription(fabric, NodeKind::kLeaf, x);
    ExpectOversubscription(fabric, NodeKind::kSpine, 2 * x);
  }
  ClosSpec spec;
  spec.leaf_uplink.speed = GigabitsPerSecond(50);
  EXPECT_DOUBLE_EQ(GigabitsOf(BuildClos(spec).value(), "leaf0->spine0"), 50);
}

TEST(ClosTest, ThreeLayersJoinPodsByGroupedOrFullCores) {
  ClosSpec spec{.pods = 3, .leaves = 2, .hosts_per_leaf = 1, .spines = 2, .cores = 4};
  const Fabric grouped = BuildClos(spec).value();
  EXPECT_EQ(CountTier(grouped, LinkTier::kSpineCore), 2u * 3 * 4);
  // Spine 1 of pod 2 is spine5; its group is the second half of the cores.
  EXPECT_TRUE(grouped.FindLink("spine5->core3").valid());
  EXPECT_FALSE(grouped.FindLink("spine5->core0").valid());
  EXPECT_EQ(grouped.num_pods(), 3u);
  EXPECT_EQ(grouped.pod(HostId(4u)), 2u);
  spec.core_wiring = CoreWiring::kFull;
  EXPECT_EQ(CountTier(BuildClos(spec).value(), LinkTier::kSpineCore), 2u * 3 * 2 * 4);
}

TEST(ClosTest, DoubleSidedHostsSplitTheirPortsOverAPair) {
  ClosSpec spec{.pods = 3, .leaves = 2, .hosts_per_leaf = 4, .spines = 4, .cores = 32, .double_sided = true};
  spec.host.ports_per_nic = 2;
  spec.host.port_speed = GigabitsPerSecond(100);
  const Fabric fabric = BuildClos(spec).value();
  EXPECT_EQ(fabric.switches(NodeKind::kLeaf).size(), 6u);
  EXPECT_EQ(fabric.switches(NodeKind::kSpine).size(), 12u);
  EXPECT_EQ(fabric.switches(NodeKind::kCore).size(), 32u);
  EXPECT_EQ(fabric.num_hosts(), 24u);  // 3 pairs * 2 leaves * 4
  EXPECT_EQ(fabric.num_leaf_groups(), 3u);
  for (uint32_t n = 0; n < 4; ++n) {
    EXPECT_TRUE(fabric.FindLink("h0/nic" + std::to_string(n) + "->leaf0").valid());
    EXPECT_TRUE(fabric.FindLink("h0/nic" + std::to_string(n) + "->leaf1").valid());
  }
  // With one port per NIC, NICs alternate: two to each leaf.
  spec.host.ports_per_nic = 1;
  const Fabric single = BuildClos(spec).value();
  EXPECT_TRUE(single.FindLink("h0/nic2->leaf0").valid());
  EXPECT_TRUE(single.FindLink("h0/nic3->leaf1").valid());
  EXPECT_FALSE(single.FindLink("h0/nic3->leaf0").valid());
}

TEST(ClosTest, BadSpecsAreNamed) {
  const auto message = [](const ClosSpec& spec) { return BuildClos(spec).status().message(); };
  EXPECT_EQ(message({.leaves = 0}), "leaves: expected a number in [1, 10000000], found 0");
  EXPECT_THAT(message({.pods = 2}), HasSubstr("need cores"));
  EXPECT_THAT(message({.pods = 2, .spines = 3, .cores = 4}), HasSubstr("4 cores cannot be grouped over 3 spines"));
  EXPECT_THAT(message({.leaves = 3, .double_sided = true}), HasSubstr("even number"));
  EXPECT_THAT(message({.leaves = 10'000'000, .hosts_per_leaf = 10'000'000}), HasSubstr("too large"));
  EXPECT_THAT(message({.leaves = 10'000'000, .spines = 10'000'000}), HasSubstr("too large"));
  ClosSpec spec;
  spec.leaf_uplink.oversubscription = 0;
  EXPECT_THAT(message(spec), HasSubstr("oversubscription: expected a positive number"));
  spec = {};
  spec.leaf_uplink.parallel = 0;
  EXPECT_THAT(message(spec), HasSubstr("parallel uplinks"));
}

TEST(RailTest, RailsAndPlanesHaveTheirOwnLeaves) {
  const RailSpec spec{.segments = 2, .hosts_per_segment = 4, .spines = 3};
  const Fabric fabric = BuildRail(spec).value();
  EXPECT_EQ(fabric.num_gpus(), 64u);
  EXPECT_EQ(fabric.switches(NodeKind::kLeaf).size(), 2u * 8 * 2);
  EXPECT_EQ(fabric.switches(NodeKind::kSpine).size(), 2u * 3);
  // Segment 1 begins at leaf16; rail 5 plane 1 is the eleventh after it. All four hosts of the segment meet there.
  for (uint32_t h = 4; h < 8; ++h) EXPECT_TRUE(fabric.FindLink("h" + std::to_string(h) + "/nic5->leaf27").valid());
  EXPECT_EQ(fabric.links_from(fabric.FindNode("leaf27")).size(), 4u + 3);
  // Even leaves are plane 0 and reach spines 0..2, odd ones 3..5.
  EXPECT_TRUE(fabric.FindLink("leaf27->spine3").valid());
  EXPECT_FALSE(fabric.FindLink("leaf27->spine2").valid());
  EXPECT_EQ(fabric.num_leaf_groups(), 2u);
  EXPECT_EQ(fabric.num_pods(), 1u);
  ExpectOversubscription(fabric, NodeKind::kLeaf, 1);
}

TEST(RailTest, SharedPlanesAndWideLeaves) {
  RailSpec spec{.hosts_per_segment = 16, .rails_per_leaf = 2, .spines = 4, .shared_planes = true};
  const Fabric fabric = BuildRail(spec).value();
  // The testbed of C4 (section 6): 16 hosts on 8 leaves.
  EXPECT_EQ(fabric.num_gpus(), 128u);
  EXPECT_EQ(fabric.switches(NodeKind::kLeaf).size(), 8u);
  EXPECT_EQ(fabric.switches(NodeKind::kSpine).size(), 4u);
  EXPECT_TRUE(fabric.FindLink("leaf0->spine0").valid());
  EXPECT_TRUE(fabric.FindLink("leaf1->spine0").valid());
  EXPECT_TRUE(fabric.FindLink("h0/nic1->leaf0").valid());
  EXPECT_TRUE(fabric.FindLink("h0/nic2->leaf2").valid());
}

TEST(RailTest, CoresJoinPodsAndRailGroups) {
  const RailSpec spec{.pods = 2, .hosts_per_segment = 2, .rail_groups = 4, .spines = 2, .cores = 6};
  const Fabric fabric = BuildRail(spec).value();
  // Per plane: 2 pods * 4 groups * 2 spines, each with 6/2 cores.
  EXPECT_EQ(fabric.switches(NodeKind::kSpine).size(), 2u * 2 * 4 * 2);
  EXPECT_EQ(fabric.switches(NodeKind::kCore).size(), 2u * 6);
  EXPECT_EQ(CountTier(fabric, LinkTier::kSpineCore), 2u * 2 * (2 * 4 * 2) * 3);
  EXPECT_EQ(fabric.num_pods(), 2u);
}

TEST(RailTest, RailsOfARailOnlyFabricDoNotMeet) {
  const Fabric fabric = BuildRail({.segments = 2, .hosts_per_segment = 2, .spines = 3, .rail_only = true}).value();
  EXPECT_FALSE(fabric.joins_rails());
  EXPECT_EQ(fabric.switches(NodeKind::kSpine).size(), 8u * 2 * 3);
  EXPECT_EQ(FindPlanes(fabric).num_planes, 8u * 2);
  EXPECT_EQ(
      BuildRail({.hosts_per_segment = 2, .spines = 0, .rail_only = true}).value().switches(NodeKind::kSpine).size(),
      0u);
  const auto message = [](const RailSpec& spec) { return BuildRail(spec).status().message(); };
  EXPECT_THAT(message({.segments = 2, .spines = 0, .rail_only = true}), HasSubstr("spines"));
  EXPECT_THAT(message({.spines = 0}), HasSubstr("spines"));
  EXPECT_THAT(message({.cores = 8, .rail_only = true}), HasSubstr("rail_only"));
}

// Planes are what is left of the network when NICs hand nothing on.
TEST(RailTest, PlanesAreNetworksThatMeetOnlyInNics) {
  const Fabric planes = BuildRail({.pods = 2, .hosts_per_segment = 2, .spines = 3, .cores = 6}).value();
  const SwitchPlanes found = FindPlanes(planes);
  EXPECT_EQ(found.num_planes, 2u);
  for (const NodeKind kind : {NodeKind::kLeaf, NodeKind::kSpine, NodeKind::kCore}) {
    std::map<uint32_t, int> counts;
    for (const NodeId node : planes.switches(kind)) ++counts[found.plane_of[node]];
    EXPECT_EQ(counts.size(), 2u);
    EXPECT_EQ(counts[0], counts[1]);
  }
  EXPECT_EQ(found.plane_of[planes.FindNode("leaf0")], 0u);
  EXPECT_EQ(found.plane_of[planes.FindNode("leaf1")], 1u);
  EXPECT_EQ(found.plane_of[planes.FindNode("h0/nic0")], SwitchPlanes::kNone);

  EXPECT_EQ(FindPlanes(BuildRail({.hosts_per_segment = 2, .shared_planes = true}).value()).num_planes, 1u);
  EXPECT_EQ(FindPlanes(BuildClos({}).value()).num_planes, 1u);
}

TEST(RailTest, BadSpecsAreNamed) {
  const auto message = [](const RailSpec& spec) { return BuildRail(spec).status().message(); };
  EXPECT_THAT(message({.rails_per_leaf = 3}), HasSubstr("rails_per_leaf: expected a divisor of the 8 NICs, found 3"));
  EXPECT_THAT(message({.rail_groups = 3}), HasSubstr("rail_groups: expected a divisor of the 8"));
  EXPECT_THAT(message({.rail_groups = 2}), HasSubstr("need cores"));
  EXPECT_THAT(message({.pods = 2}), HasSubstr("need cores"));
  EXPECT_THAT(message({.segments = 10'000'000, .hosts_per_segment = 10'000'000}), HasSubstr("too large"));
}

TEST(RailTest, AHundredThousandGpusFit) {
  const RailSpec spec{.pods = 7, .segments = 14, .hosts_per_segment = 128, .spines = 60, .cores = 120};
  const Result<Fabric> fabric = BuildRail(spec);
  ASSERT_TRUE(fabric.ok()) << fabric.status().message();
  EXPECT_EQ(fabric->num_gpus(), 100'352u);
  // Per host 8 NVLink + 8 GPU + 8 NIC + 8 PCIe switch + 1 socket + 16 port cables = 49; 7*14*16 leaves * 60; 2 planes *
  // 7 pods * 120 core cables.
  EXPECT_EQ(fabric->num_links(), 2u * (12'544 * 49 + 1'568 * 60 + 2 * 7 * 120));
}

}  // namespace
}  // namespace fairlead::topology
