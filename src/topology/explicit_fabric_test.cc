#include "topology/explicit_fabric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/clos_fabrics.h"
#include "topology/fabric_builder.h"
#include "topology/fabric_yaml.h"
#include "topology/rail_fabric.h"

namespace fairlead::topology {
namespace {

using ::testing::HasSubstr;

Result<Fabric> ReadBack(const std::string& text) {
  FL_ASSIGN_OR_RETURN(const YamlDocument document, YamlDocument::Parse(text, "written.yaml"));
  YamlMap root = document.Root();
  YamlMap section = root.RequiredMap("fabric");
  FL_RETURN_IF_ERROR(root.Finish());
  return LoadFabric(section);
}

void ExpectSameLinks(const Fabric& a, const Fabric& b) {
  ASSERT_EQ(a.num_links(), b.num_links());
  EXPECT_EQ(a.num_gpus(), b.num_gpus());
  for (LinkId link(0u); link.index() < a.num_links(); link = LinkId(link.index() + 1)) {
    const LinkId same = b.FindLink(a.LinkName(link));
    ASSERT_TRUE(same.valid()) << a.LinkName(link);
    EXPECT_DOUBLE_EQ(a.capacity(link).value(), b.capacity(same).value()) << a.LinkName(link);
  }
}

TEST(ExplicitFabricTest, GeneratedShapesComeBack) {
  ClosSpec clos{.pods = 2, .leaves = 3, .hosts_per_leaf = 2, .spines = 4, .cores = 8};
  clos.leaf_uplink = {.parallel = 3, .oversubscription = 1.7};
  clos.host.gpus = 4;
  RailSpec rail{.hosts_per_segment = 4, .spines = 2};
  const std::pair<Fabric, HostSpec> fabrics[] = {{BuildClos(clos).value(), clos.host},
                                                 {BuildRail(rail).value(), rail.host}};
  for (const auto& [fabric, host] : fabrics) {
    const auto text = WriteExplicitFabric(fabric, host, "Two lines\nof comment");
    ASSERT_TRUE(text.ok()) << text.status().message();
    EXPECT_TRUE(text->starts_with("# Two lines\n# of comment\nfabric:\n  kind: explicit\n"));
    const auto read = ReadBack(*text);
    ASSERT_TRUE(read.ok()) << read.status().message();
    ExpectSameLinks(fabric, *read);
    EXPECT_EQ(WriteExplicitFabric(*read, host, "Two lines\nof comment").value(), *text);
  }
}

TEST(ExplicitFabricTest, OddNamesAndOddHosts) {
  FabricBuilder builder;
  HostSpec host;
  host.gpus = 4;
  host.nics = 2;
  const NodeId leaf = builder.AddSwitch(NodeKind::kLeaf, "null");
  const NodeId spine = builder.AddSwitch(NodeKind::kSpine, "a: \"b\", [c]");
  for (const char* name : {"10.0.0.7", "true", "\xc3\xa9t\xc3\xa9", "- x", "y"}) {
    HostSpec own = host;
    if (std::string_view(name) == "true") own.nics = 1;
    if (std::string_view(name) == "y") own.gpus = 2;
    const HostId added = builder.AddHost(own, name);
    for (uint32_t n = 0; n < own.nics; ++n) builder.AddCable(builder.nic(added, n), leaf, GigabitsPerSecond(100.1));
  }
  // Equal cables around an unequal one: their numbers stay.
  for (const double gbps : {400.0, 100.0, 400.0, 400.0}) builder.AddCable(leaf, spine, GigabitsPerSecond(gbps));
  const Fabric fabric = std::move(builder).Build().value();
  const auto text = WriteExplicitFabric(fabric, host, "");
  ASSERT_TRUE(text.ok()) << text.status().message();
  const auto read = ReadBack(*text);
  ASSERT_TRUE(read.ok()) << read.status().message() << *text;
  ExpectSameLinks(fabric, *read);
  EXPECT_EQ(read->num_gpus_of(read->FindHost("y")), 2u);
  EXPECT_EQ(read->num_nics_of(read->FindHost("true")), 1u);
}

TEST(ExplicitFabricTest, NamesHaveToBeText) {
  FabricBuilder builder;
  HostSpec host;
  host.nics = 1;
  const NodeId leaf = builder.AddSwitch(NodeKind::kLeaf, "\xff");
  builder.AddCable(builder.nic(builder.AddHost(host, "h"), 0), leaf, GigabitsPerSecond(1));
  EXPECT_THAT(WriteExplicitFabric(std::move(builder).Build().value(), host, "").status().message(),
              HasSubstr("not UTF-8"));
}

TEST(ExplicitFabricTest, AnotherHostIsListedOnce) {
  const auto read = ReadBack(
      "fabric:\n  kind: explicit\n  host: {nics: 1}\n  switches: {leaf: [a]}\n  hosts: [h]\n"
      "  other_hosts: [{name: h, nics: 2}]\n  cables: [{from: h/nic0, to: a}]\n");
  EXPECT_THAT(read.status().message(), HasSubstr("host 'h' appears twice"));
}

}  // namespace
}  // namespace fairlead::topology
