#include "topology/fabric_yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/temporary_folder.h"
#include "topology/router.h"

namespace fairlead::topology {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Result<Fabric> Load(const std::string& section, const FabricLoadOptions& options = {}) {
  const Result<YamlDocument> document = YamlDocument::Parse(section, "t.yaml");
  if (!document.ok()) return document.status();
  YamlMap root = document->Root();
  return LoadFabric(root, options);
}

std::string Error(const std::string& section, const FabricLoadOptions& options = {}) {
  const Result<Fabric> fabric = Load(section, options);
  return fabric.ok() ? "" : fabric.status().message();
}

double Gigabits(const Fabric& fabric, std::string_view link) {
  const LinkId id = fabric.FindLink(link);
  EXPECT_TRUE(id.valid()) << link;
  return id.valid() ? fabric.capacity(id).value() * 8 / 1e9 : -1;
}

// --- The fabrics that come with the project.

Fabric Shipped(const std::string& name) {
  const Result<Fabric> fabric = LoadFabricFile(std::string(FAIRLEAD_SOURCE_DIR) + "/fabrics/" + name + ".yaml");
  EXPECT_TRUE(fabric.ok()) << fabric.status().message();
  return fabric.value();
}

TEST(ShippedFabricsTest, CruxTestbed) {
  const Fabric fabric = Shipped("crux-testbed");
  EXPECT_EQ(fabric.num_gpus(), 96u);
  EXPECT_EQ(fabric.switches(NodeKind::kLeaf).size(), 6u);
  EXPECT_EQ(fabric.switches(NodeKind::kSpine).size(), 8u);
  EXPECT_DOUBLE_EQ(Gigabits(fabric, "leaf0->spine0#2"), 100);
  EXPECT_DOUBLE_EQ(Gigabits(fabric, "h0/nic3->leaf0#2"), 100);
  EXPECT_DOUBLE_EQ(Gigabits(fabric, "h0/gpu1->h0/pcie0"), 256);
}

TEST(ShippedFabricsTest, LingjunClos) {
  const Fabric fabric = Shipped("lingjun-clos");
  EXPECT_EQ(fabric.num_gpus(), 2768u);  // 173 * 2 * 8
  EXPECT_DOUBLE_EQ(Gigabits(fabric, "leaf172->spine15"), 100);
  EXPECT_EQ(Router(fabric).CountPaths(GpuId(0), GpuId(2767)), 16u);
}

TEST(ShippedFabricsTest, LingjunDoubleSided) {
  const Fabric fabric = Shipped("lingjun-double-sided");
  EXPECT_EQ(fabric.num_gpus(), 2784u);  // 3 * 2 * 58 * 8
  EXPECT_EQ(fabric.switches(NodeKind::kLeaf).size(), 6u);
  EXPECT_EQ(fabric.switches(NodeKind::kSpine).size(), 12u);
  EXPECT_EQ(fabric.switches(NodeKind::kCore).size(), 32u);
  // A leaf has 116 hosts * 4 ports * 100 Gb/s over 4 spines; a spine has two leaves of 11.6 Tb/s over 8 cores.
  EXPECT_DOUBLE_EQ(Gigabits(fabric, "leaf0->spine0"), 11600);
  EXPECT_DOUBLE_EQ(Gigabits(fabric, "spine0->core7"), 2900);
  // In the pod: out by port 0, in by port 0, or 1 to 1. Between pods: 2 ports * 4 spines * 8 cores * 1 spine * 2 ports.
  EXPECT_EQ(Router(fabric).CountPaths(GpuId(0), GpuId(8)), 2u);
  EXPECT_EQ(Router(fabric).CountPaths(GpuId(0), GpuId(2783)), 128u);
}

TEST(ShippedFabricsTest, RailDualPlane) {
  const Fabric fabric = Shipped("rail-dual-plane-1024");
  EXPECT_EQ(fabric.num_gpus(), 1024u);
  EXPECT_EQ(fabric.switches(NodeKind::kLeaf).size(), 32u);   // 2 segments * 8 rails * 2 planes
  EXPECT_EQ(fabric.switches(NodeKind::kSpine).size(), 64u);  // 32 per plane
  EXPECT_DOUBLE_EQ(Gigabits(fabric, "leaf0->spine0"), 400);
  EXPECT_EQ(Router(fabric).CountPaths(GpuId(0), GpuId(512)), 64u);
}

// --- Kinds and keys.

TEST(FabricYamlTest, ReadsEveryKeyOfTheHost) {
  const Result<Fabric> fabric = Load(
      "kind: clos2\nleaves: 1\nhosts_per_leaf: 2\nspines: 1\n"
      "host: {gpus: 4, gpu_model: X1, gpu_peak_tflops: 100, nvlink_gigabytes_per_s: 0, sockets: 1,\n"
      "  socket_gigabytes_per_s: 7, pcie_switches: 2, pcie_gigabytes_per_s: 16, nics: 2, ports_per_nic: 3, port_gbps: "
      "25}\n");
  ASSERT_TRUE(fabric.ok()) << fabric.status().message();
  EXPECT_EQ(fabric->num_gpus(), 8u);
  EXPECT_EQ(fabric->gpu_model(), "X1");
  EXPECT_DOUBLE_EQ(fabric->gpu_peak().value(), 100e12);
  EXPECT_FALSE(fabric->FindNode("h0/nvswitch0").valid());
  EXPECT_DOUBLE_EQ(Gigabits(*fabric, "h1/pcie1->h1/nic1"), 128);
  EXPECT_DOUBLE_EQ(Gigabits(*fabric, "h1/nic1->leaf0#3"), 25);
  EXPECT_DOUBLE_EQ(Gigabits(*fabric, "leaf0->spine0"), 300);  // 2 hosts * 2 * 3 * 25
}

TEST(FabricYamlTest, ReadsThreeLayersAndRails) {
  const Result<Fabric> clos = Load(
      "kind: clos3\npods: 2\nleaves: 2\nhosts_per_leaf: 1\nspines: 2\ncores: 3\ncore_wiring: full\n"
      "parallel_uplinks: 2\noversubscription: 2\nparallel_core_uplinks: 3\ncore_uplink_gbps: 40\n");
  ASSERT_TRUE(clos.ok()) << clos.status().message();
  EXPECT_DOUBLE_EQ(Gigabits(*clos, "leaf0->spine1#2"), 100);  // 800 / 2 / (2 * 2)
  EXPECT_DOUBLE_EQ(Gigabits(*clos, "spine3->core2#3"), 40);
  const Result<Fabric> rail = Load(
      "kind: rail-dual-plane\npods: 2\nsegments: 2\nhosts_per_segment: 1\nrails_per_leaf: 2\nrail_groups: 2\nspines: "
      "2\n"
      "cores: 4\nshared_planes: true\n");
  ASSERT_TRUE(rail.ok()) << rail.status().message();
  EXPECT_EQ(rail->switches(NodeKind::kCore).size(), 4u);
  EXPECT_EQ(rail->num_gpus(), 32u);
}

constexpr const char* kExplicit =
    "kind: explicit\n"
    "host: {nics: 1}\n"
    "switches: {leaf: [a, b], spine: [s]}\n"
    "hosts: [x, y]\n"
    "cables:\n"
    "  - {from: x/nic0, to: a}\n"
    "  - {from: b, to: y/nic0, gbps: 25, parallel: 2}\n"
    "  - {from: a, to: s, gbps: 100}\n"
    "  - {from: s, to: b, gbps: 50}\n";

TEST(FabricYamlTest, ReadsExplicitFabrics) {
  const Result<Fabric> fabric = Load(kExplicit);
  ASSERT_TRUE(fabric.ok()) << fabric.status().message();
  EXPECT_EQ(fabric->HostName(HostId(1u)), "y");
  EXPECT_DOUBLE_EQ(Gigabits(*fabric, "x/nic0->a"), 200);
  EXPECT_DOUBLE_EQ(Gigabits(*fabric, "y/nic0->b#2"), 25);
  EXPECT_DOUBLE_EQ(Gigabits(*fabric, "b->s"), 50);
  EXPECT_EQ(Router(*fabric).CountPaths(GpuId(0), GpuId(8)), 2u);
}

TEST(FabricYamlTest, LinksOverrideSpeedsInBothDirections) {
  const Result<Fabric> fabric = Load(
      "kind: clos2\nleaves: 4\nhosts_per_leaf: 1\nspines: 2\nparallel_uplinks: 2\nuplink_gbps: 100\n"
      "links:\n  - {from: leaf3, to: spine1, gbps: 50}\n  - {from: spine0, to: leaf0, cable: 2, gbps: 10}\n"
      "  - {from: h0/gpu0, to: h0/pcie0, gbps: 128}\n");
  ASSERT_TRUE(fabric.ok()) << fabric.status().message();
  for (const char* link : {"leaf3->spine1#1", "leaf3->spine1#2", "spine1->leaf3#1", "spine1->leaf3#2"}) {
    EXPECT_DOUBLE_EQ(Gigabits(*fabric, link), 50);
  }
  EXPECT_DOUBLE_EQ(Gigabits(*fabric, "leaf0->spine0#1"), 100);
  EXPECT_DOUBLE_EQ(Gigabits(*fabric, "leaf0->spine0#2"), 10);
  EXPECT_DOUBLE_EQ(Gigabits(*fabric, "spine0->leaf0#2"), 10);
  EXPECT_DOUBLE_EQ(Gigabits(*fabric, "h0/pcie0->h0/gpu0"), 128);
}

// Given, default, computed and overridden values.
TEST(FabricYamlTest, ScaleIsOfAllSpeeds) {
  const std::string text =
      "kind: clos2\nleaves: 2\nhosts_per_leaf: 2\nspines: 2\noversubscription: 2\nhost: {pcie_gigabytes_per_s: 64}\n"
      "links: [{from: leaf0, to: spine1, gbps: 50}]\n";
  const Result<Fabric> whole = Load(text);
  const Result<Fabric> scaled = Load(text + "speed_scale: 0.001\n");
  ASSERT_TRUE(whole.ok() && scaled.ok()) << scaled.status().message();
  ASSERT_EQ(scaled->num_links(), whole->num_links());
  EXPECT_DOUBLE_EQ(Gigabits(*scaled, "leaf0->spine1"), 0.05);
  for (LinkId link(0u); link.index() < whole->num_links(); link = LinkId(link.index() + 1)) {
    EXPECT_DOUBLE_EQ(scaled->capacity(link).value(), whole->capacity(link).value() / 1000) << whole->LinkName(link);
  }
  EXPECT_THAT(Error(text + "speed_scale: 0\n"), HasSubstr("t.yaml:8: speed_scale: expected a number in"));
}

// --- One clear error each, with file and line.

TEST(FabricYamlTest, ErrorsNameFileAndLine) {
  const std::string clos = "kind: clos2\nleaves: 4\nhosts_per_leaf: 1\nspines: 2\n";
  EXPECT_EQ(Error("leaves: 4\n"), "t.yaml:1: the key 'kind' is missing");
  EXPECT_THAT(Error("kind: torus\n"), HasSubstr("t.yaml:1: kind: expected one of clos2, clos3, double-sided"));
  EXPECT_EQ(Error("kind: clos2\nleaves: 4\n"), "t.yaml:1: the key 'hosts_per_leaf' is missing");
  EXPECT_EQ(Error("kind: clos2\nleaves: -4\nhosts_per_leaf: 1\nspines: 1\n"),
            "t.yaml:2: leaves: expected an integer in [1, 10000000], found '-4'");
  EXPECT_THAT(Error(clos + "pods: 2\n"), HasSubstr("t.yaml:5: the key 'pods' is not for kind 'clos2', only for clos3"));
  EXPECT_THAT(Error(clos + "host: {gpus: 8, gpuz: 1}\n"), HasSubstr("t.yaml:5: host: unknown key 'gpuz'"));
  EXPECT_THAT(Error(clos + "uplink_gbps: -1\n"), HasSubstr("t.yaml:5: uplink_gbps: expected a number of Gb/s in"));
  EXPECT_THAT(Error(clos + "uplink_gbps: 10\noversubscription: 2\n"),
              HasSubstr("t.yaml:6: oversubscription: expected either this or uplink_gbps, found both"));
  EXPECT_THAT(Error("kind: double-sided\nleaves: 3\nhosts_per_leaf: 1\nspines: 1\n"),
              HasSubstr("t.yaml:1: double-sided"));
  EXPECT_THAT(Error("kind: lingjun-topo\nfile: /nonexistent.csv\n"), HasSubstr("/nonexistent.csv: cannot be opened"));
}

TEST(FabricYamlTest, OverridesMustNameCablesThatExist) {
  const std::string clos = "kind: clos2\nleaves: 4\nhosts_per_leaf: 1\nspines: 2\nlinks:\n";
  EXPECT_THAT(Error(clos + "  - {from: leaf4, to: spine0, gbps: 1}\n"), HasSubstr("t.yaml:6: links[0].from: no node"));
  EXPECT_THAT(Error(clos + "  - {from: leaf0, to: leaf1, gbps: 1}\n"),
              HasSubstr("t.yaml:6: links[0]: expected an existing cable"));
  EXPECT_THAT(Error(clos + "  - {from: leaf0, to: spine1, cable: 2, gbps: 1}\n"), HasSubstr("found 1 between"));
  EXPECT_THAT(Error(clos + "  - {from: leaf0, to: spine1, gbps: 0}\n"), HasSubstr("t.yaml:6: links[0].gbps"));
  EXPECT_THAT(Error(clos + "  - {from: leaf0, to: spine1}\n"), HasSubstr("the key 'gbps' is missing"));
}

TEST(FabricYamlTest, ExplicitErrors) {
  const std::string text = kExplicit;
  EXPECT_THAT(Error(text + "  - {from: x/nic1, to: a}\n"),
              HasSubstr("t.yaml:10: cables[4].from: expected the name of a switch"));
  EXPECT_THAT(Error(text + "  - {from: a, to: s}\n"), HasSubstr("t.yaml:10: cables[4]: the key 'gbps' is missing"));
  EXPECT_THAT(Error(text + "  - {from: a, to: b, gbps: 1}\n"), HasSubstr("no cable can join a and b"));
  EXPECT_THAT(Error("kind: explicit\nhosts: [x, x]\n"), HasSubstr("host 'x' appears twice"));
  EXPECT_THAT(Error("kind: explicit\nhosts: [x, y]\nhost: {nics: 1}\nswitches: {leaf: [a, b]}\n"
                    "cables: [{from: x/nic0, to: a}, {from: y/nic0, to: b}]\n"),
              HasSubstr("x/nic0 and y/nic0 cannot reach each other"));
  EXPECT_THAT(Error("kind: explicit\nswitches: {leaf: [a]}\n"), HasSubstr("no host"));
}

TEST(FabricYamlTest, AbsurdSizesAreRefusedBeforeMemoryIsTaken) {
  EXPECT_THAT(Error("kind: clos2\nleaves: 10000000\nhosts_per_leaf: 10000000\nspines: 10000000\n"),
              HasSubstr("too large"));
  EXPECT_THAT(Error("kind: clos2\nleaves: 1\nhosts_per_leaf: 1\nspines: 10000000\nparallel_uplinks: 1024\n"),
              HasSubstr("too large"));
  EXPECT_THAT(Error("kind: rail-dual-plane\npods: 10000000\nhosts_per_segment: 1\nspines: 1\ncores: 1\n"),
              HasSubstr("too large"));
  FabricLoadOptions options;
  options.max_links = 90;  // it has 2 * (2 * 22 inside hosts + 3 ports + 2) = 98
  EXPECT_THAT(Error(kExplicit, options), HasSubstr("t.yaml:1: the fabric is too large"));
}

TEST(FabricYamlTest, FilesHaveOneSectionAndRelativeNames) {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(folder.File(name)) << text;
    return folder.File(name);
  };
  write("topo.csv", "ip,DSW,PSW,ASW\na,G,P,S\nb,G,P,S\n");
  const std::string good = write("good.yaml", "fabric: {kind: lingjun-topo, file: topo.csv}\n");
  const Result<Fabric> fabric = LoadFabricFile(good);
  ASSERT_TRUE(fabric.ok()) << fabric.status().message();
  EXPECT_EQ(fabric->HostName(HostId(1u)), "b");
  const std::string bad = write("bad.yaml", "fabric: {kind: clos2}\nextra: 1\n");
  EXPECT_THAT(LoadFabricFile(bad).status().message(), StartsWith(bad + ":2: unknown key 'extra'"));
  EXPECT_EQ(LoadFabricFile("/nonexistent.yaml").status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace fairlead::topology
