#include "topology/fabric.h"

#include <gtest/gtest.h>

#include <set>

#include "topology/clos_fabrics.h"
#include "topology/fabric_builder.h"
#include "topology/rail_fabric.h"

namespace fairlead::topology {
namespace {

Fabric TwoPodClos() {
  ClosSpec spec{.pods = 2, .leaves = 2, .hosts_per_leaf = 2, .spines = 2, .cores = 2};
  spec.leaf_uplink.parallel = 2;
  spec.host.ports_per_nic = 2;
  return BuildClos(spec).value();
}

TEST(FabricTest, EveryNameFindsItsNodeAndLink) {
  for (const Fabric& fabric : {TwoPodClos(), BuildRail({.hosts_per_segment = 2, .spines = 2}).value()}) {
    std::set<std::string> names;
    for (size_t n = 0; n < fabric.num_nodes(); ++n) {
      const std::string name = fabric.NodeName(NodeId(n));
      EXPECT_EQ(fabric.FindNode(name), NodeId(n)) << name;
      EXPECT_TRUE(names.insert(name).second) << name;
    }
    for (size_t l = 0; l < fabric.num_links(); ++l) {
      const std::string name = fabric.LinkName(LinkId(l));
      EXPECT_EQ(fabric.FindLink(name), LinkId(l)) << name;
      EXPECT_TRUE(names.insert(name).second) << name;
    }
    for (size_t h = 0; h < fabric.num_hosts(); ++h) EXPECT_EQ(fabric.FindHost(fabric.HostName(HostId(h))), HostId(h));
  }
}

TEST(FabricTest, NamesAreTheDocumentedOnes) {
  const Fabric fabric = TwoPodClos();
  EXPECT_TRUE(fabric.FindNode("h1/gpu3").valid());
  EXPECT_TRUE(fabric.FindNode("h1/nvswitch0").valid());
  EXPECT_TRUE(fabric.FindNode("h1/pcie3").valid());
  EXPECT_TRUE(fabric.FindNode("h1/cpu1").valid());
  EXPECT_EQ(fabric.kind(fabric.FindNode("spine3")), NodeKind::kSpine);
  EXPECT_EQ(fabric.kind(fabric.FindNode("core1")), NodeKind::kCore);
  // One cable per pod between core and spine; two between leaf and spine.
  EXPECT_EQ(fabric.LinkName(fabric.FindLink("core0->spine0")), "core0->spine0");
  EXPECT_EQ(fabric.LinkName(fabric.FindLink("leaf0->spine0")), "leaf0->spine0#1");
  EXPECT_EQ(fabric.LinkName(fabric.FindLink("h0/nic0->leaf0#2")), "h0/nic0->leaf0#2");
  EXPECT_EQ(Name(LinkTier::kSpineCore), "spine-core");
}

TEST(FabricTest, UnknownNamesFindNothing) {
  const Fabric fabric = TwoPodClos();
  for (const char* name : {"", "leaf", "leaf4", "leaf-1", "leaf01", "leaf0x", "h0", "h8/gpu0", "h0/gpu8", "h0/nic00",
                           "h0/", "/gpu0", "rack1", "leaf99999999999999999999"}) {
    EXPECT_FALSE(fabric.FindNode(name).valid()) << name;
  }
  for (const char* name : {"", "->", "leaf0", "leaf0->", "->spine0", "leaf0->spine0#0", "leaf0->spine0#3",
                           "leaf0->spine0#", "leaf0->core0", "core0->spine0#2", "leaf0->spine0#x"}) {
    EXPECT_FALSE(fabric.FindLink(name).valid()) << name;
  }
  EXPECT_FALSE(fabric.FindHost("h8").valid());
  EXPECT_FALSE(fabric.FindHost("x0").valid());
}

// Both directions of a cable are neighbours and mirror each other, and links_from lists every link once, in order.
TEST(FabricTest, LinksAreConsistent) {
  const Fabric fabric = TwoPodClos();
  for (size_t l = 0; l < fabric.num_links(); ++l) {
    const LinkId link(l);
    const LinkId reverse = fabric.reverse(link);
    EXPECT_EQ(fabric.reverse(reverse), link);
    EXPECT_EQ(fabric.source(reverse), fabric.destination(link));
    EXPECT_EQ(fabric.destination(reverse), fabric.source(link));
    EXPECT_EQ(fabric.capacity(reverse), fabric.capacity(link));
    EXPECT_EQ(fabric.tier(reverse), fabric.tier(link));
  }
  size_t num_listed = 0;
  for (size_t n = 0; n < fabric.num_nodes(); ++n) {
    const auto links = fabric.links_from(NodeId(n));
    EXPECT_TRUE(std::is_sorted(links.begin(), links.end()));
    for (const LinkId link : links) EXPECT_EQ(fabric.source(link), NodeId(n));
    num_listed += links.size();
  }
  EXPECT_EQ(num_listed, fabric.num_links());
}

TEST(FabricTest, HostsOwnConsecutiveGpusNicsAndNodes) {
  const Fabric fabric = TwoPodClos();
  ASSERT_EQ(fabric.num_hosts(), 8u);
  ASSERT_EQ(fabric.num_gpus(), 64u);
  ASSERT_EQ(fabric.num_nics(), 32u);
  for (size_t g = 0; g < fabric.num_gpus(); ++g) {
    const GpuId gpu(g);
    EXPECT_EQ(fabric.host_of(gpu), HostId(g / 8));
    EXPECT_EQ(fabric.first_gpu(HostId(g / 8)), GpuId(g / 8 * 8));
    EXPECT_EQ(fabric.host_of(fabric.node_of(gpu)), HostId(g / 8));
    // Two GPUs per NIC.
    EXPECT_EQ(fabric.nic_of(gpu), NicId(g / 2));
    EXPECT_EQ(fabric.host_of(NicId(g / 2)), HostId(g / 8));
  }
  EXPECT_EQ(fabric.first_nic(HostId(3u)), NicId(12u));
  EXPECT_EQ(fabric.num_nics_of(HostId(3u)), 4u);
  // 8 GPUs, NVSwitch, 4 PCIe switches, 2 CPUs, 4 NICs.
  EXPECT_EQ(fabric.num_nodes_of(HostId(3u)), 19u);
  EXPECT_EQ(fabric.gpu_peak(), FlopPerSecond(312e12));
  EXPECT_EQ(fabric.gpu_model(), "A100");
}

TEST(FabricTest, WithCapacitiesChangesOnlyTheGivenLinks) {
  const Fabric before = TwoPodClos();
  const LinkId slow = before.FindLink("leaf0->spine1#2");
  const std::pair<LinkId, BytesPerSecond> change(slow, GigabitsPerSecond(50));
  const Fabric after = Fabric(before).WithCapacities(std::span(&change, 1));
  for (size_t l = 0; l < before.num_links(); ++l) {
    EXPECT_EQ(after.capacity(LinkId(l)), LinkId(l) == slow ? GigabitsPerSecond(50) : before.capacity(LinkId(l)));
  }
}

}  // namespace
}  // namespace fairlead::topology
