#include "slurm/topology_conf.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "topology/clos_fabrics.h"
#include "topology/fabric_builder.h"
#include "topology/import/foreign_fabric.h"
#include "topology/import/random_cabling.h"
#include "topology/rail_fabric.h"

namespace fairlead::slurm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using topology::Fabric;
using topology::NodeKind;

// Without comments.
std::string LinesOf(const Fabric& fabric) {
  const auto text = WriteTopologyConf(fabric, "fabric.yaml");
  EXPECT_TRUE(text.ok()) << text.status().message();
  std::string lines = text.ok() ? *text : "";
  while (lines.starts_with('#')) lines.erase(0, lines.find('\n') + 1);
  return lines;
}

Result<topology::ImportedFabric> FabricOf(const std::string& text) {
  FL_ASSIGN_OR_RETURN(topology::ForeignNetwork network, ReadTopologyConf(text, "topology.conf", 100));
  return topology::BuildImportedFabric(std::move(network), {}, "topology.conf", "A test.");
}

TEST(TopologyConfTest, LeavesBelowOnePod) {
  topology::ClosSpec spec;
  spec.leaves = 3;
  spec.hosts_per_leaf = 4;
  spec.spines = 2;
  EXPECT_EQ(LinesOf(*topology::BuildClos(spec)),
            "SwitchName=leaf0 Nodes=h[0-3]\n"
            "SwitchName=leaf1 Nodes=h[4-7]\n"
            "SwitchName=leaf2 Nodes=h[8-11]\n"
            "SwitchName=pod0 Switches=leaf[0-2]\n");
  spec.spines = 1;  // has a name of its own
  EXPECT_THAT(LinesOf(*topology::BuildClos(spec)), HasSubstr("SwitchName=spine0 Switches=leaf[0-2]\n"));
  spec.leaves = 1;
  EXPECT_EQ(LinesOf(*topology::BuildClos(spec)), "SwitchName=leaf0 Nodes=h[0-3]\n");
}

// 8 rails of 2 planes are 16 leaves of a segment, and one line.
TEST(TopologyConfTest, HostsOfASegmentMeetInEachRailAndPlane) {
  topology::RailSpec spec;
  spec.segments = 2;
  spec.hosts_per_segment = 3;
  EXPECT_EQ(LinesOf(*topology::BuildRail(spec)),
            "SwitchName=group0 Nodes=h[0-2]\n"
            "SwitchName=group1 Nodes=h[3-5]\n"
            "SwitchName=pod0 Switches=group[0-1]\n");
  spec.rail_only = true;
  EXPECT_THAT(LinesOf(*topology::BuildRail(spec)), HasSubstr("SwitchName=pod0 Switches=group[0-1]\n"));
  spec.segments = 1;
  spec.spines = 0;
  EXPECT_EQ(LinesOf(*topology::BuildRail(spec)), "SwitchName=group0 Nodes=h[0-2]\n");
}

TEST(TopologyConfTest, PodsBelowCores) {
  topology::RailSpec spec;
  spec.pods = 2;
  spec.segments = 2;
  spec.hosts_per_segment = 1;
  spec.spines = 2;
  spec.cores = 4;
  EXPECT_EQ(LinesOf(*topology::BuildRail(spec)),
            "SwitchName=group0 Nodes=h0\n"
            "SwitchName=group1 Nodes=h1\n"
            "SwitchName=group2 Nodes=h2\n"
            "SwitchName=group3 Nodes=h3\n"
            "SwitchName=pod0 Switches=group[0-1]\n"
            "SwitchName=pod1 Switches=group[2-3]\n"
            "SwitchName=cores Switches=pod[0-1]\n");
}

// Names that Slurm would read as something else are refused, those of switches replaced, and each name is there once.
TEST(TopologyConfTest, NamesAreThoseOfSlurm) {
  const auto build = [](const std::string& host, const std::string& leaf) {
    topology::FabricBuilder builder;
    const NodeId spine = builder.AddSwitch(NodeKind::kSpine, "pod0");
    const topology::HostSpec spec;
    for (const std::string& name : {std::string("group0"), host}) {
      const NodeId one = builder.AddSwitch(NodeKind::kLeaf, name == host ? "other" : leaf);
      builder.CablePorts(builder.AddHost(spec, name), spec, std::span(&one, 1));
      builder.AddCable(one, spine, GigabitsPerSecond(100));
    }
    return std::move(builder).Build();
  };
  EXPECT_EQ(LinesOf(*build("n1", "MF0;leaf1")),
            "SwitchName=group0-2 Nodes=group0\n"
            "SwitchName=other Nodes=n1\n"
            "SwitchName=pod0 Switches=group0-2,other\n");
  for (const char* name : {"n 1", "n[0-1]", "n,1", "n=1", "n\n1", "n\"", "n;1", "n\xc3\xa4"}) {
    const auto fabric = build(name, "leaf");
    ASSERT_TRUE(fabric.ok()) << name;
    const Status refused = WriteTopologyConf(*fabric, "f.yaml").status();
    EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(refused.message(), testing::StartsWith("f.yaml: host 'n")) << name;
    EXPECT_THAT(refused.message(), HasSubstr("as in slurm.conf (NodeName)")) << name;
    EXPECT_THAT(refused.message(), testing::Not(HasSubstr("\n"))) << name;
  }
  EXPECT_THAT(*WriteTopologyConf(*build("n1", "leaf"), "a\nSwitchName=b"), HasSubstr("in a?SwitchName=b.\n"));
}

void ExpectSameAfterReading(const Fabric& fabric) {
  const auto text = WriteTopologyConf(fabric, "fabric.yaml");
  RC_ASSERT(text.ok());
  const auto read = FabricOf(*text);
  if (!read.ok()) RC_FAIL(read.status().message());
  RC_ASSERT(LinesOf(read->fabric) == LinesOf(fabric));
  RC_ASSERT(read->fabric.num_hosts() == fabric.num_hosts());
  // As near as before: that is all that such a file says.
  for (size_t a = 0; a < fabric.num_hosts(); ++a) {
    for (size_t b = 0; b < a; ++b) {
      const HostId read_a = read->fabric.FindHost(fabric.HostName(HostId(a)));
      const HostId read_b = read->fabric.FindHost(fabric.HostName(HostId(b)));
      RC_ASSERT(read_a.valid() && read_b.valid());
      RC_ASSERT((fabric.leaf_group(HostId(a)) == fabric.leaf_group(HostId(b))) ==
                (read->fabric.leaf_group(read_a) == read->fabric.leaf_group(read_b)));
      RC_ASSERT((fabric.pod(HostId(a)) == fabric.pod(HostId(b))) ==
                (read->fabric.pod(read_a) == read->fabric.pod(read_b)));
    }
  }
}

TEST(TopologyConfTest, AFabricIsAsNearAfterReading) {
  EXPECT_TRUE(rc::check([] {
    topology::RailSpec spec;
    spec.pods = *rc::gen::inRange(1u, 4u);
    spec.segments = *rc::gen::inRange(1u, 4u);
    spec.hosts_per_segment = *rc::gen::inRange(1u, 13u);
    spec.host.nics = *rc::gen::element(1u, 2u, 4u);
    spec.host.gpus = spec.host.nics;
    spec.host.pcie_switches = 1;
    spec.host.sockets = 1;
    spec.spines = *rc::gen::inRange(1u, 4u);
    spec.shared_planes = *rc::gen::arbitrary<bool>();
    spec.cores = spec.pods > 1 ? spec.spines * *rc::gen::inRange(1u, 3u) : 0;
    const auto fabric = topology::BuildRail(spec);
    RC_PRE(fabric.ok());
    ExpectSameAfterReading(*fabric);
  }));
}

TEST(TopologyConfTest, AnyCablingIsAsNearAfterReading) {
  EXPECT_TRUE(rc::check([] {
    Random random(*rc::gen::arbitrary<uint32_t>());
    const topology::RandomCabling drawn = topology::DrawCabling(&random, {100});
    topology::ForeignNetwork network;
    for (size_t d = 0; d < drawn.devices.size(); ++d) {
      network.devices.push_back(
          {.name = drawn.devices[d],
           .role = drawn.IsHost(d) ? topology::DeviceRole::kHost : topology::DeviceRole::kSwitch});
    }
    for (const topology::RandomCable& cable : drawn.cables) {
      network.cables.push_back({.a = {static_cast<uint32_t>(cable.lower), fmt::format("{}", cable.lower_port), {}},
                                .b = {static_cast<uint32_t>(cable.upper), fmt::format("{}", cable.upper_port), {}},
                                .gbps = cable.gbps});
    }
    const auto fabric = topology::BuildImportedFabric(std::move(network), {}, "drawn", "A test.");
    if (!fabric.ok()) RC_FAIL(fabric.status().message());
    ExpectSameAfterReading(fabric->fabric);
  }));
}

TEST(TopologyConfTest, ReadAsSlurmReadsIt) {
  const auto read = FabricOf(
      "# of two racks\n"
      "switchname=s0 NODES=n[1-2] LinkSpeed=10 # no speed\r\n"
      "\n"
      "SwitchName=s1 \\\n  Nodes=\"n3\"\n"
      "  SwitchName=top Switches=s[0-1]");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_THAT(topology::CablesOf(read->fabric),
              ElementsAre("n1/nic0->s0 100", "n2/nic0->s0 100", "n3/nic0->s1 100", "s0->top 200", "s1->top 100"));
  EXPECT_THAT(read->notes, ElementsAre(HasSubstr("says which hosts are near, not how they are cabled")));
}

// A switch that is near the top is as deep as the others afterwards; a host at two switches has a NIC at each.
TEST(TopologyConfTest, UnevenTreesAndHostsAtTwoSwitches) {
  const auto read = FabricOf(
      "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n2\nSwitchName=p Switches=a,b\n"
      "SwitchName=far Nodes=n3\nSwitchName=top Switches=p,far\n");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_THAT(topology::CablesOf(read->fabric),
              ElementsAre("a->p 200", "b->p 100", "far->top-above-far 100", "n1/nic0->a 100", "n2/nic0->a 100",
                          "n2/nic1->b 100", "n3/nic0->far 100", "p->top 300", "top-above-far->top 100"));
}

TEST(TopologyConfTest, WhatIsNoTreeIsRefusedWithItsLine) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "topology.conf: no switch; expected Slurm's topology.conf"},
      {"# nothing\n", "topology.conf: no switch"},
      {"SwitchName=a\n", "topology.conf:1: a: expected Nodes=LIST or Switches=LIST, found neither"},
      {"Nodes=n1\n",
       "topology.conf:1: expected SwitchName=NAME of letters, digits, '-', '_' and '.', found 'Nodes=n1'"},
      {"\nSwitchName=a[0-1] Nodes=n1\n", "topology.conf:2: expected SwitchName=NAME"},
      {"SwitchName=a Nodes=n1 Switches=b\n", "topology.conf:1: expected one list for each switch, found 'Switches=b'"},
      {"SwitchName=a Nodes=n[1-\n", "topology.conf:1: a bracket without end in the list 'n[1-'"},
      {"SwitchName=a Nodes=\n", "topology.conf:1: expected names, found 'Nodes='"},
      {"SwitchName=a Nodes=ALL\n", "topology.conf:1: expected a list of names such as h[0-3,7], found 'ALL' in it"},
      {"SwitchName=a Nodes=n;1\n", "found 'n;1' in it"},
      {"SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2\n",
       "topology.conf:2: expected each switch once, found a again, after line 1"},
      {"SwitchName=a Switches=b\n",
       "topology.conf:1: a: expected switches of this file, found b, of which there is no line SwitchName=b"},
      {"SwitchName=a Switches=a\n", "topology.conf:1: a: expected at most 3 layers of switches, none below itself"},
      {"SwitchName=a Switches=b\nSwitchName=b Switches=a\n", "none below itself"},
      {"SwitchName=a Nodes=n1\nSwitchName=b Switches=a\nSwitchName=c Switches=b\nSwitchName=d Switches=c\n",
       "topology.conf:4: d: expected at most 3 layers"},
      {"BlockName=b1 Nodes=n1\n", "found 'BlockName=b1'; that is of topology/block"},
      {"Include other.conf\n", "found 'Include'; put what it includes into this file"},
      {"SwitchName=a Nodes=n1 Color=\x1b[31m\n", "found 'Color=?[31m'"},
  };
  for (const auto& [text, expected] : cases) {
    const auto read = ReadTopologyConf(text, "topology.conf", 100);
    ASSERT_EQ(read.status().code(), StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(read.status().message(), HasSubstr(expected)) << text;
  }
  std::string many;
  for (int s = 0; s < 11; ++s) many += fmt::format("SwitchName=s{0} Nodes=n{0}x[1-99999]\n", s);
  EXPECT_THAT(ReadTopologyConf(many, "topology.conf", 100).status().message(), HasSubstr(":11: over 1000000 names"));
}

TEST(TopologyConfTest, AnyTextIsSafe) {
  EXPECT_TRUE(rc::check([] {
    std::string text;
    for (const char* part : *rc::gen::container<std::vector<const char*>>(
             rc::gen::element<const char*>("SwitchName=", "Nodes=", "Switches=", "a", "b", "c", "[0-3]", ",", " ", "\n",
                                           "\\\n", "#", "\"", "=", "\x01"))) {
      text += part;
    }
    const auto read = ReadTopologyConf(text, "t", 1);
    if (read.ok()) RC_ASSERT(!read->devices.empty());
  }));
}

}  // namespace
}  // namespace fairlead::slurm
