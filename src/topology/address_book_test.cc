#include "topology/address_book.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "topology/clos_fabrics.h"
#include "topology/rail_fabric.h"

namespace fairlead::topology {
namespace {

IpAddress Address(uint32_t value) { return IpAddress::FromIpv4(value); }

// 2 leaves with 2 hosts each, 2 spines; one NIC per host.
Fabric SmallClos() {
  ClosSpec spec;
  spec.host.gpus = 1;
  spec.host.nics = 1;
  spec.host.pcie_switches = 1;
  spec.host.sockets = 1;
  return BuildClos(spec).value();
}

// NICs with two ports, each to its own leaf.
Fabric BondedFabric() {
  RailSpec spec;
  spec.segments = 2;
  spec.hosts_per_segment = 2;
  spec.spines = 2;
  spec.host.gpus = 2;
  spec.host.nics = 2;
  spec.host.pcie_switches = 2;
  spec.host.ports_per_nic = 2;
  return BuildRail(spec).value();
}

// As the lab numbers them: NIC n has 10.0.0.n, the interface that link l ends at has 10.128.0.l.
AddressBook BookOf(const Fabric& fabric) {
  AddressBook book;
  for (uint32_t n = 0; n < fabric.num_nics(); ++n) EXPECT_TRUE(book.AddNic(Address(0x0a000000 + n), NicId(n)).ok());
  for (uint32_t l = 0; l < fabric.num_links(); ++l) {
    if (!IsNetwork(fabric.tier(LinkId(l)))) continue;
    EXPECT_TRUE(book.AddRouterInterface(Address(0x0a800000 + l), LinkId(l)).ok());
  }
  return book;
}

// Any way up and down again from a NIC, as a packet goes; empty when it ends at a NIC's other port.
std::vector<LinkId> RandomWalk(const Fabric& fabric, NicId source, Random* random) {
  std::vector<LinkId> route;
  NodeId at = fabric.node_of(source);
  do {
    std::vector<LinkId> ways;
    for (const LinkId link : fabric.links_from(at)) {
      if (IsNetwork(fabric.tier(link))) ways.push_back(link);
    }
    route.push_back(ways[random->Below(ways.size())]);
    at = fabric.destination(route.back());
  } while (fabric.kind(at) != NodeKind::kNic);
  return route;
}

TEST(AddressBookTest, AnAddressHasOneMeaning) {
  AddressBook book;
  EXPECT_TRUE(book.AddNic(Address(1), NicId(3u)).ok());
  EXPECT_TRUE(book.AddNic(Address(1), NicId(3u)).ok());
  EXPECT_EQ(book.AddNic(Address(1), NicId(4u)).code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(book.AddRouterInterface(Address(1), LinkId(0u)).code(), StatusCode::kAlreadyExists);
  EXPECT_TRUE(book.AddRouterInterface(Address(2), LinkId(7u)).ok());
  EXPECT_EQ(book.AddRouterInterface(Address(2), LinkId(8u)).code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(book.AddNic(Address(2), NicId(3u)).code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(book.AddNic(IpAddress(), NicId(3u)).code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(book.AddNic(Address(9), NicId(3u)).ok());

  EXPECT_EQ(book.FindNic(Address(1)), NicId(3u));
  EXPECT_EQ(book.FindNic(Address(2)), std::nullopt);
  EXPECT_EQ(book.FindLink(Address(2)), LinkId(7u));
  EXPECT_EQ(book.FindLink(Address(1)), std::nullopt);
  EXPECT_EQ(book.AddressOf(NicId(3u)), Address(1)) << "the first one";
  EXPECT_TRUE(book.AddressOf(NicId(4u)).is_unset());
}

// Law: the routers' answers along any way that a packet can take give back its links.
TEST(AddressBookTest, RoutesAreThoseOfThePackets) {
  for (const Fabric& fabric : {SmallClos(), BondedFabric()}) {
    const AddressBook book = BookOf(fabric);
    Random random(1);
    for (int i = 0; i < 500; ++i) {
      const NicId source(random.Below(fabric.num_nics()));
      const std::vector<LinkId> walk = RandomWalk(fabric, source, &random);
      NicId destination(0u);
      while (fabric.node_of(destination) != fabric.destination(walk.back())) {
        destination = NicId(destination.value() + 1);
      }
      std::vector<IpAddress> hops;
      for (const LinkId link : walk) hops.push_back(Address(0x0a800000 + link.value()));
      hops.pop_back();  // the destination is no router
      EXPECT_EQ(book.RouteOf(fabric, source, destination, hops), walk);

      // A silent, unknown or foreign hop, or a shorter walk, has no route.
      const size_t at = random.Below(hops.size());
      for (const IpAddress& wrong : {IpAddress(), Address(0x0b000000), Address(0x0a000000)}) {
        std::vector<IpAddress> broken = hops;
        broken[at] = wrong;
        EXPECT_TRUE(book.RouteOf(fabric, source, destination, broken).empty());
      }
      std::vector<IpAddress> twice = hops;
      twice.insert(twice.begin() + static_cast<std::ptrdiff_t>(at), hops[at]);
      EXPECT_TRUE(book.RouteOf(fabric, source, destination, twice).empty());
      EXPECT_TRUE(book.RouteOf(fabric, source, destination, {}).empty());
    }
  }
}

TEST(AddressBookTest, ALeafThatDoesNotLeadToTheDestinationHasNoRoute) {
  const Fabric fabric = SmallClos();
  const AddressBook book = BookOf(fabric);
  // h0 and h1 are on leaf0, h2 on leaf1.
  const LinkId up = fabric.FindLink("h0/nic0->leaf0");
  const std::vector<IpAddress> hops = {Address(0x0a800000 + up.value())};
  EXPECT_EQ(book.RouteOf(fabric, NicId(0u), NicId(1u), hops),
            (std::vector<LinkId>{up, fabric.FindLink("leaf0->h1/nic0")}));
  EXPECT_TRUE(book.RouteOf(fabric, NicId(0u), NicId(2u), hops).empty());
  EXPECT_TRUE(book.RouteOf(fabric, NicId(1u), NicId(0u), hops).empty()) << "it did not begin there";
}

TEST(AddressBookJsonTest, WhatWasWrittenIsRead) {
  const Fabric fabric = BondedFabric();
  AddressBook book = BookOf(fabric);
  ASSERT_TRUE(book.AddNic(ParseIpAddress("fd00::5").value(), NicId(2u)).ok());
  const std::string text = WriteAddressBook(book, fabric);
  const auto read = ReadAddressBook(text, "book.json", fabric);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->nics(), book.nics());
  EXPECT_EQ(read->router_interfaces(), book.router_interfaces());
  EXPECT_EQ(WriteAddressBook(*read, fabric), text);
}

TEST(AddressBookJsonTest, MistakesAreNamed) {
  const Fabric fabric = SmallClos();
  const auto error_of = [&](std::string_view text) {
    const auto read = ReadAddressBook(text, "book.json", fabric);
    EXPECT_FALSE(read.ok()) << text;
    return read.ok() ? "" : read.status().message();
  };
  EXPECT_EQ(error_of("{\n\"nics\": {,}}"), "book.json:2: not JSON (or not UTF-8); restore the file or write it again");
  EXPECT_EQ(error_of(""), "book.json:1: not JSON (or not UTF-8); restore the file or write it again");
  EXPECT_EQ(error_of("[]"), "book.json: expected an object with nics and interfaces, found a list");
  EXPECT_EQ(error_of(R"({"nics": 3})"), "book.json: nics: expected an object of addresses, found a number");
  EXPECT_EQ(error_of(R"({"nic": {}})"), "book.json: 'nic': no such key; known: nics, interfaces");
  EXPECT_EQ(error_of(R"({"nics": {"10.0.0.1": {}}})"), "book.json: nics: '10.0.0.1': expected a name, found an object");
  EXPECT_EQ(error_of(R"({"nics": {"10.0.0.1": "h9/nic0"}})"),
            "book.json: nics: '10.0.0.1': the fabric has no NIC 'h9/nic0'");
  EXPECT_EQ(error_of(R"({"nics": {"10.0.0.1": "leaf0"}})"),
            "book.json: nics: '10.0.0.1': the fabric has no NIC 'leaf0'");
  EXPECT_EQ(error_of(R"({"interfaces": {"10.0.0.1": "leaf0->leaf1"}})"),
            "book.json: interfaces: '10.0.0.1': the fabric has no network link 'leaf0->leaf1'");
  EXPECT_EQ(error_of(R"({"nics": {"10.0.0.1": "h0/nic0", "10.0.0.1": "h0/nic0"}})"),
            "book.json: nics: '10.0.0.1': it appears twice; keep one");
  EXPECT_EQ(error_of(R"({"nics": {"10.0.0.1": "h0/nic0"}, "interfaces": {"10.0.0.1": "leaf0->h0/nic0"}})"),
            "book.json: interfaces: '10.0.0.1': it appears twice; keep one");
  EXPECT_TRUE(error_of(R"({"nics": {"10.0.0": "h0/nic0"}})").starts_with("book.json: nics: "));
  // Nesting is not followed.
  EXPECT_NE(error_of(std::string(1'000'000, '[')), "");
  EXPECT_TRUE(ReadAddressBook("{}", "book.json", fabric).ok());
}

// Law: a file of random damage is read or refused, never more.
TEST(AddressBookJsonTest, DamagedFilesAreReadOrRefused) {
  const Fabric fabric = SmallClos();
  const std::string text = WriteAddressBook(BookOf(fabric), fabric);
  Random random(3);
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = text.substr(0, random.Below(4) == 0 ? random.Below(text.size()) : text.size());
    for (uint64_t n = random.Below(4); n > 0 && !damaged.empty(); --n) {
      damaged[random.Below(damaged.size())] = static_cast<char>(random.Below(256));
    }
    if (!ReadAddressBook(damaged, "book.json", fabric).ok()) ++refused;
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace fairlead::topology
