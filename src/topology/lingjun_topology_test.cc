#include "topology/lingjun_topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <sstream>

#include "topology/router.h"

namespace fairlead::topology {
namespace {

using ::testing::HasSubstr;

Result<Fabric> Read(const std::string& text, const LingjunOptions& options = {}) {
  return ReadLingjunTopology(std::make_unique<std::istringstream>(text), "topo.csv", options);
}

std::string Error(const std::string& text, const LingjunOptions& options = {}) {
  const Result<Fabric> fabric = Read(text, options);
  return fabric.ok() ? "" : fabric.status().message();
}

// Two pods that both have a leaf S1.
constexpr const char* kSmall =
    "ip,DSW,PSW,ASW\n"
    "aa,G6,P8,S1\n"
    "bb,G6,P8,S1\n"
    "cc,G6,P8,S2\n"
    "dd,G6,P10,S1\n";

TEST(LingjunTopologyTest, PerPodReadingSeparatesEqualLabels) {
  const Result<Fabric> fabric = Read(kSmall);
  ASSERT_TRUE(fabric.ok()) << fabric.status().message();
  EXPECT_EQ(fabric->num_hosts(), 4u);
  EXPECT_EQ(fabric->switches(NodeKind::kLeaf).size(), 3u);
  EXPECT_EQ(fabric->switches(NodeKind::kSpine).size(), 16u);
  EXPECT_EQ(fabric->switches(NodeKind::kCore).size(), 16u);
  EXPECT_EQ(fabric->num_leaf_groups(), 3u);
  EXPECT_EQ(fabric->num_pods(), 2u);
  EXPECT_EQ(fabric->FindHost("cc"), HostId(2u));
  EXPECT_TRUE(fabric->FindLink("bb/nic3->P8/S1").valid());
  // 1:1: two hosts of 800 Gb/s over 8 spines; a pod's spine carries 3 * 800 / 8 = 300 Gb/s over 16 / 8 = 2 cores.
  EXPECT_DOUBLE_EQ(fabric->capacity(fabric->FindLink("P8/S1->P8/spine7")).value() * 8 / 1e9, 200);
  EXPECT_DOUBLE_EQ(fabric->capacity(fabric->FindLink("P8/spine7->G6/core14")).value() * 8 / 1e9, 150);
  EXPECT_FALSE(fabric->FindLink("P8/spine7->G6/core13").valid());
  // In the pod 8 spines; between pods 8 spines * 2 cores.
  const Router router(*fabric);
  EXPECT_EQ(router.CountPaths(fabric->first_gpu(HostId(0u)), fabric->first_gpu(HostId(2u))), 8u);
  EXPECT_EQ(router.CountPaths(fabric->first_gpu(HostId(0u)), fabric->first_gpu(HostId(3u))), 16u);
}

TEST(LingjunTopologyTest, GlobalReadingJoinsEqualLabels) {
  LingjunOptions options;
  options.global_leaf_labels = true;
  const Result<Fabric> fabric = Read(kSmall, options);
  ASSERT_TRUE(fabric.ok()) << fabric.status().message();
  EXPECT_EQ(fabric->num_leaf_groups(), 2u);
  EXPECT_TRUE(fabric->FindLink("S1->P8/spine0").valid());
  EXPECT_TRUE(fabric->FindLink("S1->P10/spine0").valid());
  EXPECT_FALSE(fabric->FindLink("S2->P10/spine0").valid());
}

TEST(LingjunTopologyTest, DualHomedHostsHaveTwoLeaves) {
  LingjunOptions options;
  options.dual_homed = true;
  options.host.ports_per_nic = 2;
  options.host.port_speed = GigabitsPerSecond(100);
  options.leaf_uplink.oversubscription = 2;
  const Result<Fabric> fabric = Read(kSmall, options);
  ASSERT_TRUE(fabric.ok()) << fabric.status().message();
  EXPECT_EQ(fabric->switches(NodeKind::kLeaf).size(), 6u);
  EXPECT_EQ(fabric->num_leaf_groups(), 3u);
  EXPECT_TRUE(fabric->FindLink("aa/nic0->P8/S1.0").valid());
  EXPECT_TRUE(fabric->FindLink("aa/nic0->P8/S1.1").valid());
  // Two hosts, half of 800 Gb/s each, 2:1, 8 spines.
  EXPECT_DOUBLE_EQ(fabric->capacity(fabric->FindLink("P8/S1.1->P8/spine0")).value() * 8 / 1e9, 50);
  options.host = HostSpec();
  options.host.nics = 1;
  EXPECT_THAT(Error(kSmall, options), HasSubstr("dual_homed"));
}

TEST(LingjunTopologyTest, AcceptsWhatSpreadsheetsMakeOfIt) {
  const std::string dressed =
      "\xef\xbb\xbfx,ASW,\"PSW\",DSW,ip,,\r\n"
      "1,S1,P8,G6,aa,,\r\n"
      "\r\n"
      "2,S1,P8,G6, bb ,,";
  const Result<Fabric> fabric = Read(dressed);
  ASSERT_TRUE(fabric.ok()) << fabric.status().message();
  EXPECT_EQ(fabric->num_hosts(), 2u);
  EXPECT_EQ(fabric->FindHost("bb"), HostId(1u));
}

TEST(LingjunTopologyTest, ErrorsNameFileAndLine) {
  const std::string header = "ip,DSW,PSW,ASW\n";
  EXPECT_EQ(Error(header + "aa,G,P,S\nbb,G,P,S\naa,G,P2,S\n"),
            "topo.csv:4: host 'aa' is in two places, here and on line 2; expected one row per host");
  EXPECT_EQ(Error("ip,DSW,PSW\naa,G,P\n"),
            "topo.csv:1: expected one column 'ASW', found 0; the header has: ip, DSW, PSW");
  EXPECT_EQ(Error(header + "aa,G,,S\n"), "topo.csv:2: PSW is empty; expected a label");
  EXPECT_EQ(Error(header + "aa,G,P,S\nbb,G,P\n"), "topo.csv:3: expected 4 fields as in the header, found 3");
  EXPECT_EQ(Error(header + "aa,G,P,S,x\n"), "topo.csv:2: expected 4 fields as in the header, found 5");
  EXPECT_THAT(Error(header + "aa,G,P,S/1\n"), HasSubstr("topo.csv:2: ASW: expected a label"));
  EXPECT_THAT(Error(header + "aa,G,P,S\nbb,H,P,S\n"),
              HasSubstr("topo.csv:3: PSW 'P' is under DSW 'H' here and under 'G'"));
  EXPECT_THAT(Error(header), HasSubstr("no host"));
  EXPECT_THAT(Error(""), HasSubstr("the file is empty"));
  EXPECT_THAT(Error(std::string("ip,DSW,PSW,ASW\na\0,G,P,S\n", 24)), HasSubstr("topo.csv:2: contains a NUL byte"));
  // Two core layers without a common pod.
  EXPECT_THAT(Error(header + "aa,G,P,S\nbb,H,Q,S\n"),
              HasSubstr("topo.csv: the fabric is disconnected: aa/nic0 and bb/nic3"));
  LingjunOptions options;
  options.cores = 12;
  EXPECT_THAT(Error(kSmall, options), HasSubstr("12 cores cannot be grouped over 8 spines"));
  options.core_wiring = CoreWiring::kFull;
  EXPECT_EQ(Error(kSmall, options), "");
}

TEST(LingjunTopologyTest, MoreHostsThanFitAreRefusedWhileReading) {
  // A default host has 25 + 4 cables, 58 links; 116 links hold two hosts and no switch.
  const Result<Fabric> fabric =
      ReadLingjunTopology(std::make_unique<std::istringstream>(kSmall), "topo.csv", LingjunOptions(), 116);
  EXPECT_EQ(fabric.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(fabric.status().message(), HasSubstr("topo.csv:4: expected at most 2 hosts"));
}

// The real file. Numbers: papers' page on the data set, section 4, counted there by other means.
TEST(LingjunTopologyTest, RealFile) {
  const std::string path = std::string(FAIRLEAD_SOURCE_DIR) + "/../shared/data/lingjun-2023/topo.csv";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "the data set is not at " << path;
  const Result<Fabric> fabric = LoadLingjunTopology(path);
  ASSERT_TRUE(fabric.ok()) << fabric.status().message();
  EXPECT_EQ(fabric->num_hosts(), 847u);
  EXPECT_EQ(fabric->num_pods(), 3u);
  EXPECT_EQ(fabric->num_leaf_groups(), 119u);
  std::vector<int> hosts_of_group(fabric->num_leaf_groups(), 0);
  std::map<uint32_t, int> hosts_of_pod;
  for (size_t h = 0; h < fabric->num_hosts(); ++h) {
    ++hosts_of_group[fabric->leaf_group(HostId(h))];
    ++hosts_of_pod[fabric->pod(HostId(h))];
  }
  std::multiset<int> pod_sizes;
  for (const auto& [pod, hosts] : hosts_of_pod) pod_sizes.insert(hosts);
  EXPECT_EQ(pod_sizes, (std::multiset<int>{179, 306, 362}));
  std::map<int, int> groups_of_size;
  for (const int hosts : hosts_of_group) ++groups_of_size[hosts];
  EXPECT_EQ(groups_of_size, (std::map<int, int>{{8, 68}, {7, 23}, {6, 15}, {5, 7}, {4, 2}, {3, 1}, {2, 3}}));

  LingjunOptions options;
  options.global_leaf_labels = true;
  EXPECT_EQ(LoadLingjunTopology(path, options)->num_leaf_groups(), 48u);
}

}  // namespace
}  // namespace fairlead::topology
