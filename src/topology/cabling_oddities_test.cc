#include "topology/cabling_oddities.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/clos_fabrics.h"
#include "topology/fabric_builder.h"
#include "topology/rail_fabric.h"

namespace fairlead::topology {
namespace {

// Cables by name, so that a test changes some; hosts have two NICs.
struct Cabling {
  std::vector<std::pair<std::string, std::string>> cables;
  std::map<size_t, double> speeds;  // of cables, instead of 100
  uint32_t num_hosts = 0;

  size_t Find(const std::string& from, const std::string& to) const {
    const auto found = std::ranges::find(cables, std::pair(from, to));
    EXPECT_NE(found, cables.end()) << from << to;
    return static_cast<size_t>(found - cables.begin());
  }
  Fabric Build() const {
    FabricBuilder builder;
    std::map<std::string, NodeId> nodes;
    HostSpec spec;
    spec.nics = 2;
    for (const auto& [prefix, kind] : {std::pair("leaf", NodeKind::kLeaf), std::pair("spine", NodeKind::kSpine)}) {
      for (int n = 0; n < 8; ++n) {
        const std::string name = std::string(prefix) + std::to_string(n);
        const bool is_used =
            std::ranges::any_of(cables, [&](const auto& c) { return c.first == name || c.second == name; });
        if (is_used) nodes[name] = builder.AddSwitch(kind, name);
      }
    }
    for (uint32_t h = 0; h < num_hosts; ++h) {
      const HostId host = builder.AddHost(spec, "h" + std::to_string(h));
      for (uint32_t n = 0; n < 2; ++n)
        nodes["h" + std::to_string(h) + "/nic" + std::to_string(n)] = builder.nic(host, n);
    }
    for (size_t c = 0; c < cables.size(); ++c) {
      const auto speed = speeds.find(c);
      builder.AddCable(nodes.at(cables[c].first), nodes.at(cables[c].second),
                       GigabitsPerSecond(speed == speeds.end() ? 100 : speed->second));
    }
    auto fabric = std::move(builder).Build();
    EXPECT_TRUE(fabric.ok()) << fabric.status().message();
    return std::move(fabric).value();
  }
};

// Four hosts on leaf0 and leaf1, four on leaf2 and leaf3; two cables from each leaf to each of four spines.
Cabling Regular() {
  Cabling cabling;
  cabling.num_hosts = 8;
  for (int h = 0; h < 8; ++h) {
    for (int n = 0; n < 2; ++n) {
      cabling.cables.emplace_back("h" + std::to_string(h) + "/nic" + std::to_string(n),
                                  "leaf" + std::to_string(h / 4 * 2 + n));
    }
  }
  for (int l = 0; l < 4; ++l) {
    for (int s = 0; s < 4; ++s) {
      for (int p = 0; p < 2; ++p) cabling.cables.emplace_back("leaf" + std::to_string(l), "spine" + std::to_string(s));
    }
  }
  return cabling;
}

TEST(CablingOdditiesTest, RegularFabricsHaveNone) {
  EXPECT_EQ(FindCablingOddities(Regular().Build()).size(), 0u);
  EXPECT_EQ(
      FindCablingOddities(BuildClos({.pods = 3, .leaves = 4, .hosts_per_leaf = 3, .spines = 4, .cores = 8}).value())
          .size(),
      0u);
  EXPECT_EQ(
      FindCablingOddities(BuildClos({.leaves = 4, .hosts_per_leaf = 3, .spines = 4, .double_sided = true}).value())
          .size(),
      0u);
  EXPECT_EQ(FindCablingOddities(BuildRail({.segments = 2, .hosts_per_segment = 4, .spines = 4}).value()).size(), 0u);
}

TEST(CablingOdditiesTest, AMissingUplink) {
  Cabling cabling = Regular();
  cabling.cables.erase(cabling.cables.begin() + static_cast<ptrdiff_t>(cabling.Find("leaf2", "spine1")));
  const Fabric fabric = cabling.Build();
  const CablingOddities found = FindCablingOddities(fabric);
  ASSERT_EQ(found.size(), 1u);
  ASSERT_EQ(found.counts.size(), 1u);
  EXPECT_EQ(fabric.NodeName(found.counts[0].lower), "leaf2");
  EXPECT_EQ(fabric.NodeName(found.counts[0].upper), "spine1");
  EXPECT_EQ(found.counts[0].found, 1u);
  EXPECT_EQ(found.counts[0].expected, 2u);
}

TEST(CablingOdditiesTest, AnUplinkInTheWrongSpine) {
  Cabling cabling = Regular();
  cabling.cables[cabling.Find("leaf0", "spine3")].second = "spine2";
  const CablingOddities found = FindCablingOddities(cabling.Build());
  ASSERT_EQ(found.counts.size(), 2u);
  EXPECT_EQ(found.counts[0].found, 3u);
  EXPECT_EQ(found.counts[1].found, 1u);
}

TEST(CablingOdditiesTest, ALeafWithoutUplinks) {
  // The hosts still reach each other over their other leaf.
  Cabling cabling = Regular();
  std::erase_if(cabling.cables, [](const auto& cable) { return cable.first == "leaf1"; });
  for (int h = 0; h < 4; ++h) cabling.cables.emplace_back("h" + std::to_string(h) + "/nic1", "leaf0");
  const Fabric fabric = cabling.Build();
  const CablingOddities found = FindCablingOddities(fabric);
  ASSERT_EQ(found.counts.size(), 1u);
  EXPECT_EQ(fabric.NodeName(found.counts[0].lower), "leaf1");
  EXPECT_FALSE(found.counts[0].upper.valid());
  EXPECT_EQ(found.counts[0].expected, 8u);
}

TEST(CablingOdditiesTest, ASlowCable) {
  Cabling cabling = Regular();
  cabling.speeds[cabling.Find("leaf1", "spine3") + 1] = 50;
  cabling.speeds[cabling.Find("h7/nic1", "leaf3")] = 25;
  const Fabric fabric = cabling.Build();
  const CablingOddities found = FindCablingOddities(fabric);
  ASSERT_EQ(found.speeds.size(), 2u);
  EXPECT_EQ(found.size(), 2u);
  EXPECT_EQ(fabric.LinkName(found.speeds[0].link), "leaf1->spine3#2");
  EXPECT_EQ(fabric.LinkName(found.speeds[1].link), "h7/nic1->leaf3");
  EXPECT_DOUBLE_EQ(found.speeds[1].expected.value(), 100e9 / 8);
}

TEST(CablingOdditiesTest, CrossedAndMisplacedNics) {
  Cabling cabling = Regular();
  cabling.cables[cabling.Find("h1/nic0", "leaf0")].second = "leaf1";
  cabling.cables[cabling.Find("h1/nic1", "leaf1")].second = "leaf0";
  cabling.cables[cabling.Find("h6/nic1", "leaf3")].second = "leaf4";  // a switch without hosts
  for (int c = 0; c < 8; ++c) cabling.cables.emplace_back("leaf4", "spine" + std::to_string(c / 2));
  const Fabric fabric = cabling.Build();
  const CablingOddities found = FindCablingOddities(fabric);
  ASSERT_EQ(found.nics.size(), 3u);
  EXPECT_EQ(found.size(), 3u);
  EXPECT_EQ(fabric.NodeName(found.nics[0].nic), "h1/nic0");
  EXPECT_EQ(fabric.NodeName(found.nics[0].expected), "leaf0");
  EXPECT_EQ(fabric.NodeName(found.nics[2].nic), "h6/nic1");
  EXPECT_EQ(fabric.NodeName(found.nics[2].found), "leaf4");
  EXPECT_EQ(fabric.NodeName(found.nics[2].expected), "leaf3");
}

TEST(CablingOdditiesTest, AHostWithMoreCables) {
  Cabling cabling = Regular();
  cabling.cables.emplace_back("h3/nic1", "leaf1");
  const CablingOddities found = FindCablingOddities(cabling.Build());
  ASSERT_EQ(found.hosts.size(), 1u);
  EXPECT_EQ(found.hosts[0].host, HostId(3u));
  EXPECT_EQ(found.hosts[0].found, 3u);
  EXPECT_EQ(found.hosts[0].expected, 2u);
  EXPECT_EQ(found.size(), 1u);
}

}  // namespace
}  // namespace fairlead::topology
