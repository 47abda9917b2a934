#include "topology/fabric_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace fairlead::topology {
namespace {

using ::testing::HasSubstr;

HostSpec OneNic() {
  HostSpec host;
  host.nics = 1;
  return host;
}

// Hosts h0, h1, … with one NIC each, cabled to the leaves that are named.
struct Network {
  FabricBuilder builder;
  std::vector<NodeId> leaves;

  explicit Network(uint32_t num_leaves) : leaves(builder.AddSwitches(NodeKind::kLeaf, num_leaves)) {}
  void AddHost(std::initializer_list<uint32_t> leaf_numbers) {
    const HostId host = builder.AddHost(OneNic());
    for (const uint32_t leaf : leaf_numbers)
      builder.AddCable(builder.nic(host, 0), leaves[leaf], GigabitsPerSecond(200));
  }
  Status BuildStatus() { return std::move(builder).Build().status(); }
};

TEST(FabricBuilderTest, ALoneHostNeedsNoNetwork) {
  FabricBuilder builder;
  builder.AddHost(HostSpec());
  const Result<Fabric> fabric = std::move(builder).Build();
  ASSERT_TRUE(fabric.ok()) << fabric.status().message();
  EXPECT_EQ(fabric->num_gpus(), 8u);
  // 8 NVLink, 8 GPU, 4 NIC, 4 PCIe switch cables, 1 between the sockets; two links each.
  EXPECT_EQ(fabric->num_links(), 50u);
  EXPECT_EQ(fabric->num_pods(), 1u);
}

TEST(FabricBuilderTest, NoHostIsAnError) { EXPECT_THAT(Network(1).BuildStatus().message(), HasSubstr("no host")); }

TEST(FabricBuilderTest, DisconnectedFabricNamesTwoHosts) {
  Network network(2);
  network.AddHost({0});
  network.AddHost({0});
  network.AddHost({1});
  const Status status = network.BuildStatus();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("h0/nic0 and h2/nic0 cannot reach each other"));
}

// A NIC on two leaves carries no transit traffic: h0 reaches h1, and h1 reaches h2, but not h0 h2.
TEST(FabricBuilderTest, ANicDoesNotJoinTwoNetworks) {
  Network chain(2);
  chain.AddHost({0});
  chain.AddHost({0, 1});
  chain.AddHost({1});
  EXPECT_THAT(chain.BuildStatus().message(), HasSubstr("h0/nic0 and h2/nic0"));
  // Every two of these share a leaf, though no leaf has all three.
  Network triangle(3);
  triangle.AddHost({0, 1});
  triangle.AddHost({1, 2});
  triangle.AddHost({0, 2});
  EXPECT_TRUE(triangle.BuildStatus().ok());
}

TEST(FabricBuilderTest, ANicWithoutCableIsAnError) {
  Network network(1);
  network.AddHost({0});
  network.AddHost({});
  EXPECT_THAT(network.BuildStatus().message(), HasSubstr("h1/nic0 has no cable"));
}

TEST(FabricBuilderTest, CapacitiesMustBePositiveAndFinite) {
  for (const double speed : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    Network network(1);
    network.AddHost({0});
    const HostId host = network.builder.AddHost(OneNic());
    network.builder.AddCable(network.builder.nic(host, 0), network.leaves[0], BytesPerSecond(speed));
    EXPECT_THAT(network.BuildStatus().message(),
                HasSubstr("cable h1/nic0 - leaf0: expected a positive, finite capacity"));
  }
}

TEST(FabricBuilderTest, OnlyNeighbouringKindsAreCabled) {
  FabricBuilder builder;
  const NodeId leaf = builder.AddSwitch(NodeKind::kLeaf);
  const NodeId core = builder.AddSwitch(NodeKind::kCore);
  builder.AddHost(HostSpec());
  builder.AddCable(leaf, core, GigabitsPerSecond(100));
  EXPECT_THAT(std::move(builder).Build().status().message(), HasSubstr("no cable can join leaf0 and core0"));
}

TEST(FabricBuilderTest, NamesAreListedOnce) {
  const auto build = [](const std::string& first, const std::string& second, const std::string& leaf) {
    FabricBuilder builder;
    const NodeId node = builder.AddSwitch(NodeKind::kLeaf, "tor");
    builder.AddSwitch(NodeKind::kLeaf, leaf);
    for (const std::string& name : {first, second}) {
      builder.AddCable(builder.nic(builder.AddHost(OneNic(), name), 0), node, GigabitsPerSecond(1));
    }
    return std::move(builder).Build().status();
  };
  EXPECT_TRUE(build("a", "b", "tor2").ok());
  EXPECT_THAT(build("a", "a", "tor2").message(), HasSubstr("host 'a' appears twice"));
  EXPECT_THAT(build("a", "b", "tor").message(), HasSubstr("switch 'tor' appears twice"));
  EXPECT_THAT(build("a", "", "tor2").message(), HasSubstr("for every host or for none"));
  EXPECT_THAT(build("", "b", "tor2").message(), HasSubstr("for every host or for none"));
  EXPECT_THAT(build("a", "b->c", "tor2").message(), HasSubstr("without '#' and '->'"));
  EXPECT_THAT(build("a", "b", "tor#2").message(), HasSubstr("without '#' and '->'"));
}

TEST(FabricBuilderTest, HostsHaveOneKindOfGpu) {
  FabricBuilder builder;
  builder.AddHost(HostSpec());
  HostSpec other;
  other.gpu_model = "H100";
  builder.AddHost(other);
  EXPECT_THAT(std::move(builder).Build().status().message(), HasSubstr("'A100', 'H100'"));
}

TEST(FabricBuilderTest, SizesAreCheckedBeforeMemoryIsTaken) {
  FabricBuilder builder;
  EXPECT_EQ(builder.Reserve(HostSpec(), 1e9, 1, 1).code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(builder.Reserve(HostSpec(), 1, 1, 1e18).code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(builder.Reserve(HostSpec(), 1, std::nan(""), 1).code(), StatusCode::kResourceExhausted);
  // A lone default host has 50 links and 4 ports of 2 more.
  FabricBuilder small(57);
  EXPECT_EQ(small.Reserve(HostSpec(), 1, 0, 0).code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(FabricBuilder(58).Reserve(HostSpec(), 1, 0, 0).ok());
  FabricBuilder tiny(48);
  tiny.AddHost(HostSpec());
  EXPECT_EQ(std::move(tiny).Build().status().code(), StatusCode::kResourceExhausted);
}

TEST(FabricBuilderTest, ASwitchHasAtMost65535CablesToOthers) {
  for (const int num_cables : {65535, 65536}) {
    Network network(1);
    network.AddHost({0});
    const NodeId spine = network.builder.AddSwitch(NodeKind::kSpine);
    for (int i = 0; i < num_cables; ++i) network.builder.AddCable(network.leaves[0], spine, GigabitsPerSecond(1));
    EXPECT_EQ(network.BuildStatus().ok(), num_cables == 65535);
  }
}

TEST(HostSpecTest, AffinityOfTheTestbedHost) {
  // GPUs 0, 1 and NIC 0 on PCIe switch 0, …; switches 0, 1 on socket 0.
  const HostSpec host;
  for (uint32_t g = 0; g < 8; ++g) {
    EXPECT_EQ(host.NicOfGpu(g), g / 2);
    EXPECT_EQ(host.PcieSwitchOfGpu(g), g / 2);
  }
  for (uint32_t s = 0; s < 4; ++s) {
    EXPECT_EQ(host.PcieSwitchOfNic(s), s);
    EXPECT_EQ(host.SocketOfPcieSwitch(s), s / 2);
  }
}

// Every index that an affinity yields exists, whatever the counts: also fewer GPUs than NICs, or more sockets than
// switches.
TEST(HostSpecTest, AffinitiesStayInRange) {
  for (uint32_t gpus = 1; gpus <= 9; ++gpus) {
    for (uint32_t others = 1; others <= 9; ++others) {
      HostSpec host;
      host.gpus = gpus;
      host.nics = others;
      host.pcie_switches = 10 - others;
      host.sockets = others;
      FabricBuilder builder;
      builder.AddHost(host);
      const Result<Fabric> fabric = std::move(builder).Build();
      ASSERT_TRUE(fabric.ok());
      EXPECT_EQ(fabric->num_links(), 2 * host.NumInnerCables());
      for (uint32_t g = 0; g < gpus; ++g) EXPECT_LT(fabric->nic_of(GpuId(g)).value(), others);
    }
  }
}

TEST(HostSpecTest, ValidateNamesTheBadCount) {
  HostSpec host;
  host.gpus = 0;
  EXPECT_EQ(host.Validate().message(), "host: gpus must be in [1, 1024], found 0");
  host = HostSpec();
  host.pcie_speed = BytesPerSecond(-1);
  EXPECT_THAT(host.Validate().message(), HasSubstr("pcie speed must be positive and finite"));
  host = HostSpec();
  host.nvlink_speed = BytesPerSecond(0);
  EXPECT_TRUE(host.Validate().ok());
  host.gpu_peak = FlopPerSecond(0);
  EXPECT_FALSE(host.Validate().ok());
}

}  // namespace
}  // namespace fairlead::topology
