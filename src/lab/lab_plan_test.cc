#include "lab/lab_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "lab/link_setup.h"
#include "topology/clos_fabrics.h"
#include "topology/fabric_builder.h"
#include "topology/rail_fabric.h"

namespace fairlead::lab {
namespace {

using topology::Fabric;
using topology::FabricBuilder;
using topology::HostSpec;

HostSpec SmallHost(uint32_t nics, uint32_t ports) {
  HostSpec host;
  host.gpus = nics;
  host.pcie_switches = nics;
  host.sockets = 1;
  host.nics = nics;
  host.ports_per_nic = ports;
  return host;
}

// Two planes, two segments, two parallel cables from leaf to spine: everything that names have to tell apart.
Fabric DualPlaneFabric() {
  topology::RailSpec spec;
  spec.segments = 2;
  spec.hosts_per_segment = 3;
  spec.spines = 2;
  spec.leaf_uplink.parallel = 2;
  spec.host = SmallHost(2, 2);
  return topology::BuildRail(spec).value();
}

TEST(LabPlan, HasTheNodesAndCablesOfTheFabric) {
  const Fabric fabric = DualPlaneFabric();
  const LabPlan plan = PlanLab(fabric, {}).value();
  // 6 hosts; 2 segments x 2 rails x 2 planes leaves; 2 spines for each of 2 planes.
  EXPECT_EQ(plan.nodes.size(), 6u + 8u + 4u);
  // 6 hosts x 2 NICs x 2 ports; each leaf has 2 cables to each of the 2 spines of its plane.
  EXPECT_EQ(plan.cables.size(), 24u + 8u * 4u);
  EXPECT_EQ(plan.nics.size(), 12u);
  for (const LabNic& nic : plan.nics) EXPECT_EQ(nic.cables.size(), 2u);
}

TEST(LabPlan, ScalesSpeeds) {
  LabOptions options;
  options.scale = 1e-4;
  const LabPlan plan = PlanLab(DualPlaneFabric(), options).value();
  // Ports of 200 Gb/s.
  EXPECT_DOUBLE_EQ(plan.cables[plan.nics[NicId(0u)].cables[0]].bits_per_s, 20e6);
}

TEST(LabPlan, NothingIsGivenOutTwice) {
  const LabPlan plan = PlanLab(DualPlaneFabric(), {}).value();
  std::set<uint32_t> addresses;
  for (const LabNic& nic : plan.nics) EXPECT_TRUE(addresses.insert(nic.address).second);
  std::set<std::pair<uint32_t, std::string>> interfaces;
  for (const LabCable& cable : plan.cables) {
    for (const CableEnd& end : cable.ends) {
      EXPECT_TRUE(addresses.insert(end.address).second);
      EXPECT_TRUE(interfaces.insert({end.node.value(), end.interface}).second);
      EXPECT_LE(end.interface.size(), 15u);
    }
  }
  std::set<uint32_t> seeds;
  for (const LabNode& node : plan.nodes) {
    EXPECT_NE(node.hash_seed, 0u);
    EXPECT_TRUE(seeds.insert(node.hash_seed).second);
  }
}

TEST(LabPlan, EveryCableIsFoundByItsNames) {
  const Fabric fabric = DualPlaneFabric();
  const LabPlan plan = PlanLab(fabric, {}).value();
  std::set<std::string> names;
  CableId cable(0u);
  for (LinkId link(0u); link.index() < fabric.num_links(); link = LinkId(link.index() + 2)) {
    if (!IsNetwork(fabric.tier(link))) continue;
    const std::string name = CableName(plan, cable);
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(FindCable(plan, name), cable) << name;
    EXPECT_EQ(FindCable(plan, fabric.LinkName(link)), cable) << fabric.LinkName(link);
    EXPECT_EQ(FindCable(plan, fabric.LinkName(fabric.reverse(link))), cable) << fabric.LinkName(fabric.reverse(link));
    cable = CableId(cable.index() + 1);
  }
  EXPECT_EQ(cable.index(), plan.cables.size());
  for (const char* wrong : {"", "-", "leaf0", "leaf0-spine9", "leaf0-spine0#3", "h0/nic7-leaf0", "leaf0-leaf1"}) {
    EXPECT_FALSE(FindCable(plan, wrong).valid()) << wrong;
  }
}

TEST(LabPlan, RefusesWhatCannotBe) {
  const Fabric fabric = DualPlaneFabric();
  for (const double scale : {0.0, -1.0, 1.5}) {
    LabOptions options;
    options.scale = scale;
    EXPECT_FALSE(PlanLab(fabric, options).ok()) << scale;
  }
  LabOptions slow;
  slow.scale = 1e-6;  // 200 Gb/s -> 0.2 Mb/s
  const auto refused = PlanLab(fabric, slow);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("0.2 Mb/s"), std::string::npos) << refused.status().message();
  LabOptions queues;
  queues.queues_per_level = 3;
  EXPECT_FALSE(PlanLab(fabric, queues).ok());
  FabricBuilder builder;
  builder.AddHost(SmallHost(1, 1));
  EXPECT_FALSE(PlanLab(std::move(builder).Build().value(), {}).ok()) << "a lone host has no network";
}

TEST(LabPlan, QueuesFollowTheSizeOfTheLab) {
  // 2 ends x 8 levels x 32 queues are 512 classes a cable: 16 cables fill 8192.
  EXPECT_EQ(AutomaticQueues(16), 32u);
  EXPECT_EQ(AutomaticQueues(17), 16u);
  EXPECT_EQ(AutomaticQueues(64), 8u);
  EXPECT_EQ(AutomaticQueues(65), 1u);
}

TEST(LinkSetup, MakesEveryCableOnceAndHidesNothingOutside) {
  const LabPlan plan = PlanLab(DualPlaneFabric(), {}).value();
  const std::string text = CableCommands(plan, [](LabNodeId node) { return "/ns/" + std::to_string(node.value()); });
  EXPECT_EQ(static_cast<size_t>(std::count(text.begin(), text.end(), '\n')), plan.cables.size());
  size_t num_netns = 0;
  for (size_t at = text.find(" netns /ns/"); at != text.npos; at = text.find(" netns /ns/", at + 1)) ++num_netns;
  EXPECT_EQ(num_netns, 2 * plan.cables.size());
}

TEST(LinkSetup, SwitchesForwardAndHostsDoNot) {
  const LabPlan plan = PlanLab(DualPlaneFabric(), {}).value();
  for (const LabNode& node : plan.nodes) {
    const auto settings = SettingsOf(node);
    const auto forwards = std::count_if(settings.begin(), settings.end(),
                                        [](const KernelSetting& s) { return s.name == "net/ipv4/ip_forward"; });
    EXPECT_EQ(forwards, node.role == NodeRole::kHost ? 0 : 1);
  }
}

TEST(LinkSetup, OnlyHostsWithSeveralPortsPerNicAreBonded) {
  const LabPlan bonded = PlanLab(DualPlaneFabric(), {}).value();
  for (LabNodeId id(0u); id.index() < bonded.nodes.size(); id = LabNodeId(id.index() + 1)) {
    EXPECT_EQ(HasBondedNic(bonded, id), bonded.nodes[id].role == NodeRole::kHost);
    // The rule that makes the kernel look at ports.
    EXPECT_EQ(AddressCommands(bonded, id).find("ipproto 6 sport") != std::string::npos, HasBondedNic(bonded, id));
  }
}

}  // namespace
}  // namespace fairlead::lab
