#include "topology/import/foreign_fabric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/import/random_cabling.h"

namespace fairlead::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Devices are numbers in the order of `names`: those that begin with 'h' are hosts.
ForeignNetwork MakeNetwork(const std::vector<std::string>& names,
                           const std::vector<std::pair<std::string, std::string>>& cables) {
  ForeignNetwork network;
  for (const std::string& name : names) {
    network.devices.push_back({.name = name, .role = name[0] == 'h' ? DeviceRole::kHost : DeviceRole::kSwitch});
  }
  uint32_t port = 0;
  const auto end = [&](const std::string& name) {
    const auto found = std::ranges::find(names, name);
    EXPECT_NE(found, names.end()) << name;
    return ForeignPort{
        .device = static_cast<uint32_t>(found - names.begin()), .name = fmt::format("p{}", port++), .nic = {}};
  };
  for (const auto& [a, b] : cables) {
    const ForeignPort from = end(a);
    network.cables.push_back({.a = from, .b = end(b), .gbps = 100});
  }
  return network;
}

Result<ImportedFabric> Import(ForeignNetwork network, const ImportOptions& options = {}) {
  return BuildImportedFabric(std::move(network), options, "net", "A test.");
}

TEST(ForeignFabricTest, LayersAreDistancesFromHosts) {
  const auto imported = Import(MakeNetwork({"h1", "h2", "a", "b", "s", "c", "m", "island"},
                                           {{"h1", "a"}, {"b", "h2"}, {"s", "a"}, {"b", "s"}, {"s", "c"}, {"c", "m"}}));
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  EXPECT_THAT(CablesOf(imported->fabric),
              ElementsAre("a->s 100", "b->s 100", "h1/nic0->a 100", "h2/nic0->b 100", "s->c 100"));
  EXPECT_THAT(imported->notes, ElementsAre(HasSubstr("left out m and island: further than three switches")));
}

TEST(ForeignFabricTest, WhatLiesAcrossIsLeftOutWithANote) {
  // a and b are a pair with a cable between them; hs hangs on the spine, which makes the spine a leaf.
  const auto pair =
      Import(MakeNetwork({"h1", "h2", "a", "b", "s"}, {{"h1", "a"}, {"h2", "b"}, {"a", "b"}, {"a", "s"}, {"b", "s"}}));
  ASSERT_TRUE(pair.ok()) << pair.status().message();
  EXPECT_THAT(pair->notes, ElementsAre(HasSubstr("left out 1 cable(s) that do not lead from one layer to the next: "
                                                 "a (p4) - b (p5)")));
  const ForeignNetwork odd =
      MakeNetwork({"h1", "h2", "hs", "a", "b", "s"}, {{"h1", "a"}, {"h2", "b"}, {"hs", "s"}, {"a", "s"}, {"b", "s"}});
  const auto refused = Import(odd);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.status().message(), HasSubstr("is a report of a switch missing?"));
  ImportOptions options;
  options.layers = {{"s", NodeKind::kSpine}};
  const auto imported_odd = Import(odd, options);
  ASSERT_TRUE(imported_odd.ok()) << imported_odd.status().message();
  EXPECT_THAT(CablesOf(imported_odd->fabric), ElementsAre("a->s 100", "b->s 100", "h1/nic0->a 100", "h2/nic0->b 100"));
  EXPECT_THAT(imported_odd->notes,
              ElementsAre(HasSubstr("hs (p4) - s (p5)"), HasSubstr("left out hs: no cable to a leaf")));
  options = {};
  options.without = {"hs"};
  EXPECT_EQ(CablesOf(Import(odd, options).value().fabric), CablesOf(imported_odd->fabric));
}

TEST(ForeignFabricTest, RolesMayBeGivenAndMustBeKnown) {
  ForeignNetwork network = MakeNetwork({"h1", "h2", "x"}, {{"h1", "x"}, {"h2", "x"}});
  network.devices[2].role = DeviceRole::kUnknown;
  EXPECT_THAT(Import(network).status().message(), HasSubstr("net: 'x': the file does not tell whether"));
  ImportOptions options;
  options.switches = {"[xyz]"};
  EXPECT_TRUE(Import(network, options).ok());
  options.switches = {};
  options.hosts = {"*"};
  EXPECT_THAT(Import(network, options).status().message(), HasSubstr("a cable joins two hosts, h1 (p0) and x (p1)"));
  options.hosts = {};
  options.switches = {"*"};
  EXPECT_THAT(Import(network, options).status().message(), HasSubstr("no host has a cable to a switch"));
}

TEST(ForeignFabricTest, NicsOfUnequalHostsAndPortsOfANic) {
  ForeignNetwork network =
      MakeNetwork({"h1", "h2", "h3", "h10", "a"},
                  {{"h1", "a"}, {"h1", "a"}, {"h2", "a"}, {"h2", "a"}, {"h3", "a"}, {"h10", "a"}, {"h10", "a"}});
  auto imported = Import(network);
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  EXPECT_THAT(imported->notes, ElementsAre(HasSubstr("most hosts have 2 NICs, others have another number: h3 (1)")));
  EXPECT_THAT(imported->yaml,
              HasSubstr("  hosts: [h1, h2, h10]\n  other_hosts:\n    - {name: h3, gpus: 8, nics: 1}\n"));
  const Fabric& fabric = imported->fabric;
  EXPECT_EQ(fabric.num_nics_of(fabric.FindHost("h3")), 1u);
  EXPECT_EQ(fabric.num_nics_of(fabric.FindHost("h10")), 2u);
  ImportOptions options;
  options.ports_per_nic = 2;
  imported = Import(network, options);
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  EXPECT_THAT(imported->notes, IsEmpty());
  EXPECT_EQ(imported->fabric.num_nics(), 4u);
  EXPECT_THAT(CablesOf(imported->fabric),
              ElementsAre("h1/nic0->a 100", "h1/nic0->a 100", "h10/nic0->a 100", "h10/nic0->a 100", "h2/nic0->a 100",
                          "h2/nic0->a 100", "h3/nic0->a 100"));
  // Ports of one NIC by the file.
  for (ForeignCable& cable : network.cables) cable.a.nic = "bond0";
  EXPECT_EQ(Import(network).value().fabric.num_nics(), 4u);
}

TEST(ForeignFabricTest, AddressesFollowTheirPorts) {
  ForeignNetwork network = MakeNetwork({"h1", "h2", "a", "s"}, {{"h1", "a"}, {"h2", "a"}, {"a", "s"}, {"s", "a"}});
  const auto at = [](const char* text) { return ParseIpAddress(text).value(); };
  network.addresses[{0, "p0"}] = {at("10.0.0.1"), at("fd00::1")};
  network.addresses[{1, "p2"}] = {at("10.0.0.2")};
  network.addresses[{2, "p1"}] = {at("10.1.0.1"), at("10.9.9.9")};  // a, from h1; and one that a has everywhere
  network.addresses[{2, "p3"}] = {at("10.9.9.9")};
  network.addresses[{2, "p7"}] = {at("10.1.0.2")};  // a, second cable to s
  network.addresses[{3, "p6"}] = {at("10.1.0.3")};  // s, second cable to a
  const auto imported = Import(network);
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  const Fabric& fabric = imported->fabric;
  const AddressBook& book = imported->addresses;
  const auto link = [&](const char* address) {
    const auto found = book.FindLink(at(address));
    return found ? fabric.LinkName(*found) : "none";
  };
  EXPECT_EQ(fabric.NodeName(fabric.node_of(book.FindNic(at("fd00::1")).value())), "h1/nic0");
  EXPECT_EQ(fabric.NodeName(fabric.node_of(book.FindNic(at("10.0.0.2")).value())), "h2/nic0");
  EXPECT_EQ(link("10.1.0.1"), "h1/nic0->a");
  EXPECT_EQ(link("10.1.0.2"), "s->a#2");
  EXPECT_EQ(link("10.1.0.3"), "a->s#2");
  EXPECT_EQ(link("10.9.9.9"), "none");
  const auto read = ReadAddressBook(WriteAddressBook(book, fabric), "book", fabric);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->router_interfaces(), book.router_interfaces());
}

TEST(ForeignFabricTest, NamesAreMadeUsableAndUnique) {
  EXPECT_EQ(UsableDeviceName("rack 3 / leaf#1"), "rack-3-leaf-1");
  EXPECT_EQ(UsableDeviceName("->"), "unnamed");
  EXPECT_TRUE(NaturalLess("leaf2", "leaf10"));
  EXPECT_FALSE(NaturalLess("leaf10", "leaf2"));
  // Different names are never equal.
  EXPECT_NE(NaturalLess("eth1", "eth01"), NaturalLess("eth01", "eth1"));
  EXPECT_TRUE(NaturalLess("a", "a1"));
  EXPECT_EQ(ListNames({"a"}), "a");
  EXPECT_EQ(ListNames({"a", "b", "c"}, 1), "a and 2 others");
  const auto imported = Import(MakeNetwork({"h 1", "h#1", "a b"}, {{"h 1", "a b"}, {"h#1", "a b"}}));
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  EXPECT_THAT(CablesOf(imported->fabric), ElementsAre("h-1-2/nic0->a-b 100", "h-1/nic0->a-b 100"));
}

}  // namespace
}  // namespace fairlead::topology
