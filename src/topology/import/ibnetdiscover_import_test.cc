#include "topology/import/ibnetdiscover_import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file_reader.h"
#include "topology/import/foreign_fabric.h"
#include "topology/import/random_cabling.h"

namespace fairlead::topology {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Result<ImportedFabric> ImportSubnet(const std::string& text, const ImportOptions& options = {}) {
  FL_ASSIGN_OR_RETURN(ForeignNetwork network, ReadIbnetdiscover(text, "subnet.txt"));
  return BuildImportedFabric(std::move(network), options, "subnet.txt", "A test.");
}

// Laid out as the tool of real clusters prints it: lids of both ends behind the ports of adapters, GUIDs of ports
// without leading zeros, aggregation nodes at port 41, one cable that came up slower.
TEST(IbnetdiscoverTest, ASubnetAsTheToolPrintsIt) {
  const std::string text =
      ReadWholeFile(std::string(FAIRLEAD_SOURCE_DIR) + "/src/topology/import/testdata/ibnetdiscover.txt").value();
  const auto imported = ImportSubnet(text);
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  EXPECT_THAT(CablesOf(imported->fabric),
              ElementsAre("leaf1->spine1 200", "leaf1->spine1 200", "leaf1->spine2 200", "leaf1->spine2 200",
                          "leaf2->spine1 200", "leaf2->spine1 200", "leaf2->spine2 100", "leaf2->spine2 200",
                          "node01/nic0->leaf1 200", "node01/nic1->leaf2 200", "node02/nic0->leaf1 200",
                          "node02/nic1->leaf2 200", "node03/nic0->leaf1 200", "node03/nic1->leaf2 200",
                          "node04/nic0->leaf1 200", "node04/nic1->leaf2 200"));
  EXPECT_THAT(imported->notes, ElementsAre(HasSubstr("1 aggregation node")));
  EXPECT_THAT(imported->yaml, HasSubstr("# node04: nic0 = mlx5_0 nic1 = mlx5_1"));
}

std::string WriteSubnet(const RandomCabling& drawn, Random* random, bool one_sided) {
  constexpr const char* kRates[] = {"4xQDR", "4xEDR", "4xHDR", "4xNDR", "2xHDR"};
  constexpr double kSpeeds[] = {32, 100, 200, 400, 100};
  const auto rate = [&](double gbps) {
    size_t i = random->Below(5);
    while (kSpeeds[i] != gbps) i = (i + 1) % 5;
    return kRates[i];
  };
  // Each port of a host is a separate adapter.
  const auto id = [&](size_t device, uint32_t port) {
    return drawn.IsHost(device) ? fmt::format("H-{:08x}{:08x}", device, port) : fmt::format("S-{:016x}", device);
  };
  const auto port_of = [&](size_t device, uint32_t port) { return drawn.IsHost(device) ? 1 : port; };
  const auto described = [&](size_t device, uint32_t port) {
    return drawn.IsHost(device) ? fmt::format("{} mlx5_{}", drawn.devices[device], port)
                                : fmt::format("MF0;{}:MQM9700/U1", drawn.devices[device]);
  };
  std::map<std::string, std::string> records;
  for (const RandomCable& cable : drawn.cables) {
    const uint64_t sides = one_sided ? 1 + random->Below(3) : 3;
    const char* speed = rate(cable.gbps);
    const std::string lower = id(cable.lower, cable.lower_port);
    const std::string upper = id(cable.upper, cable.upper_port);
    std::string& near = records[fmt::format("{} 64 \"{}\" # \"{}\"", drawn.IsHost(cable.lower) ? "Ca" : "Switch", lower,
                                            described(cable.lower, cable.lower_port))];
    if ((sides & 1) != 0) {
      near += fmt::format("[{}]\t\"{}\"[{}]\t# \"{}\" lid 3 {}\n", port_of(cable.lower, cable.lower_port), upper,
                          cable.upper_port, described(cable.upper, cable.upper_port), speed);
    }
    std::string& far = records[fmt::format("Switch 64 \"{}\" # \"{}\" enhanced port 0 lid 1 lmc 0", upper,
                                           described(cable.upper, cable.upper_port))];
    if ((sides & 2) != 0) {
      far += fmt::format("[{}]\t\"{}\"[{}]\t# \"{}\" lid 3 {}\n", cable.upper_port, lower,
                         port_of(cable.lower, cable.lower_port), described(cable.lower, cable.lower_port), speed);
    }
  }
  std::string text = "# Topology file\n";
  for (const auto& [head, ports] : records) text += fmt::format("vendid=0x2c9\n{}\n{}\n", head, ports);
  return text;
}

TEST(IbnetdiscoverTest, RandomFabricsComeBack) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    const RandomCabling drawn = DrawCabling(&random, {32, 100, 200, 400});
    const auto imported = ImportSubnet(WriteSubnet(drawn, &random, seed % 2 == 0));
    ASSERT_TRUE(imported.ok()) << "seed " << seed << ": " << imported.status().message();
    EXPECT_EQ(CablesOf(imported->fabric), CablesOf(drawn)) << "seed " << seed;
  }
}

TEST(IbnetdiscoverTest, NamesOfNodes) {
  const auto imported = ImportSubnet(
      "Switch 40 \"S-0a\" # \"SwitchIB Mellanox Technologies\" base port 0 lid 1 lmc 0\n"
      "[1] \"H-01\"[1](1) # \"MT4123 ConnectX6 Mellanox Technologies\" lid 2 4xFDR\n"
      "[2] \"H-02\"[2](2) # \"gpu7\" lid 2 4xFDR10\n"
      "[3] \"S-0b\"[1] # \"SwitchIB Mellanox Technologies\" lid 2 12xEDR\n"
      "[4] \"S-0c\"[1] # \"MF0;dir:CS7520/L03/U1\" lid 2 1xNDR\n"
      "[5] \"S-0d\"[1] # \"MF0;dir:CS7520/S01/U1\" lid 2 4xSDR\n");
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  EXPECT_THAT(CablesOf(imported->fabric),
              ElementsAre("H-01/nic0->S-0a 54.5455", "S-0a->S-0b 300", "S-0a->dir-L03-U1 100", "S-0a->dir-S01-U1 8",
                          "gpu7/nic0->S-0a 40"));
}

TEST(IbnetdiscoverTest, MistakesAreNamedWithTheirLine) {
  const std::string head = "Switch 40 \"S-0a\" # \"a\" base port 0\n[1] \"H-01\"[1](1) # \"h1 mlx5_0\" lid 2 4xEDR\n";
  const std::pair<std::string, std::string> cases[] = {
      {"", "subnet.txt: no port with a cable; expected the output of ibnetdiscover"},
      {"ibwarn: failed\n", "subnet.txt:1: expected a line of ibnetdiscover"},
      {"[1] \"H-01\"[1]\n", "subnet.txt:1: a port appears before the first Switch or Ca"},
      {"Switch 40 S-0a\n", "subnet.txt:1: expected Switch N \"ID\""},
      {head + "[x] \"H-02\"[1]\n", "subnet.txt:3: expected [port] \"ID\"[port]"},
      {head + "[2] \"H-02\"\n", "subnet.txt:3: expected [port] \"ID\"[port]"},
      {head + "[1] \"H-02\"[1] # \"h2 mlx5_0\" 4xEDR\n", "subnet.txt:3: port 1 of S-0a has another cable on line 2"},
      {head + "[2] \"H-02\"[1] # \"h2 mlx5_0\"\n",
       "subnet.txt: 1 of 2 cables have no speed, such as h2 (mlx5_0/1) - a (2)"},
  };
  for (const auto& [text, message] : cases) {
    const auto imported = ImportSubnet(text);
    ASSERT_FALSE(imported.ok()) << text;
    EXPECT_THAT(imported.status().message(), HasSubstr(message));
  }
  ImportOptions options;
  options.default_gbps = 50;
  const auto imported = ImportSubnet(head + "[2] \"H-02\"[1] # \"h2 mlx5_0\"\n", options);
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  EXPECT_THAT(CablesOf(imported->fabric), ElementsAre("h1/nic0->a 100", "h2/nic0->a 50"));
  EXPECT_THAT(imported->notes, IsEmpty());
}

}  // namespace
}  // namespace fairlead::topology
