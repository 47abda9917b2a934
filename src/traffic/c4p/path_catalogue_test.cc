#include "traffic/c4p/path_catalogue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "topology/clos_fabrics.h"
#include "topology/rail_fabric.h"
#include "topology/router.h"

namespace fairlead::traffic::c4p {
namespace {

using topology::Fabric;

Fabric TwoLayers() { return topology::BuildClos({.leaves = 4, .hosts_per_leaf = 2, .spines = 3}).value(); }

Fabric ThreeLayers() {
  return topology::BuildClos({.pods = 3, .leaves = 2, .hosts_per_leaf = 1, .spines = 4, .cores = 8}).value();
}

// The C4 testbed's shape: left and right leaves below the same spines, so that crossing is possible and forbidden.
Fabric SharedPlanes() {
  return topology::BuildRail(
             {.segments = 2, .hosts_per_segment = 2, .rails_per_leaf = 4, .spines = 4, .shared_planes = true})
      .value();
}

NodeId Leaf(const Fabric& fabric, size_t i) { return fabric.switches(topology::NodeKind::kLeaf)[i]; }

TEST(PathCatalogueTest, TwoLayersHaveOnePathPerSpine) {
  const Fabric fabric = TwoLayers();
  PathCatalogue catalogue(fabric);
  EXPECT_EQ(catalogue.num_planes(), 1u);
  const LeafPaths& paths = catalogue.Paths(Leaf(fabric, 0), Leaf(fabric, 3));
  EXPECT_EQ(paths.length, 2u);
  ASSERT_EQ(paths.num_paths, 3u);
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(fabric.source(paths.path(i)[0]), Leaf(fabric, 0));
    EXPECT_EQ(fabric.destination(paths.path(i)[0]), fabric.source(paths.path(i)[1]));
    EXPECT_EQ(fabric.destination(paths.path(i)[1]), Leaf(fabric, 3));
  }
}

TEST(PathCatalogueTest, OneLeafNeedsNoSpine) {
  const Fabric fabric = TwoLayers();
  PathCatalogue catalogue(fabric);
  const LeafPaths& paths = catalogue.Paths(Leaf(fabric, 1), Leaf(fabric, 1));
  EXPECT_EQ(paths.length, 0u);
  EXPECT_EQ(paths.num_paths, 1u);
  EXPECT_TRUE(paths.path(0).empty());
}

// Parallel cables multiply: 2 up x 2 down for each spine.
TEST(PathCatalogueTest, ParallelCablesAreDifferentPaths) {
  const Fabric fabric =
      topology::BuildClos({.leaves = 2, .hosts_per_leaf = 1, .spines = 3, .leaf_uplink = {.parallel = 2}}).value();
  PathCatalogue catalogue(fabric);
  EXPECT_EQ(catalogue.Paths(Leaf(fabric, 0), Leaf(fabric, 1)).num_paths, 12u);
}

// The router lists paths between GPUs by another method (breadth-first search from the far side): on fabrics of one
// plane it must find the same set.
TEST(PathCatalogueTest, AgreesWithTheRouter) {
  for (const Fabric& fabric : {TwoLayers(), ThreeLayers()}) {
    PathCatalogue catalogue(fabric);
    const topology::Router router(fabric);
    for (size_t a = 0; a < fabric.num_hosts(); ++a) {
      for (size_t b = 0; b < fabric.num_hosts(); ++b) {
        if (a == b) continue;
        const GpuId from = fabric.first_gpu(HostId(a));
        const GpuId to = fabric.first_gpu(HostId(b));
        std::set<std::vector<LinkId>> expected;
        for (uint64_t i = 0; i < router.CountPaths(from, to); ++i) {
          model::Path path;
          router.AppendPath(from, to, i, &path);
          std::erase_if(path, [&](LinkId link) { return fabric.tier(link) < topology::LinkTier::kLeafSpine; });
          expected.insert(path);
        }
        const LeafPaths& paths =
            catalogue.Paths(catalogue.ports(fabric.nic_of(from))[0].leaf, catalogue.ports(fabric.nic_of(to))[0].leaf);
        std::set<std::vector<LinkId>> found;
        for (uint32_t i = 0; i < paths.num_paths; ++i) {
          found.insert({paths.path(i).begin(), paths.path(i).end()});
        }
        EXPECT_EQ(found, expected) << a << " to " << b;
      }
    }
  }
}

TEST(PathCatalogueTest, PortsOfABondedNicLeadToDifferentLeaves) {
  const Fabric fabric = SharedPlanes();
  PathCatalogue catalogue(fabric);
  EXPECT_EQ(catalogue.num_planes(), 2u);
  for (size_t n = 0; n < fabric.num_nics(); ++n) {
    const auto ports = catalogue.ports(NicId(n));
    ASSERT_EQ(ports.size(), 2u);
    EXPECT_NE(ports[0].leaf, ports[1].leaf);
    EXPECT_EQ(fabric.destination(ports[0].up), ports[0].leaf);
    EXPECT_EQ(fabric.source(ports[0].down), ports[0].leaf);
  }
}

TEST(PathCatalogueTest, LongListsAreThinnedEvenly) {
  // 40 spines with 2 cables each way, over 80 cores: 40 * 2 * 2 * 2 * 2 * 2 > 1024 paths.
  const Fabric fabric = topology::BuildClos({.pods = 2,
                                             .leaves = 1,
                                             .hosts_per_leaf = 1,
                                             .spines = 40,
                                             .cores = 80,
                                             .leaf_uplink = {.parallel = 2},
                                             .core_uplink = {.parallel = 2}})
                            .value();
  PathCatalogue catalogue(fabric);
  const LeafPaths& paths = catalogue.Paths(Leaf(fabric, 0), Leaf(fabric, 1));
  EXPECT_EQ(paths.num_paths, PathCatalogue::kMaxPathsPerPair);
  std::set<LinkId> uplinks;
  for (uint32_t i = 0; i < paths.num_paths; ++i) uplinks.insert(paths.path(i)[0]);
  EXPECT_EQ(uplinks.size(), 80u);
}

// Health decides what is usable, never what is listed: an index stays a name.
TEST(PathCatalogueTest, FailuresChangeEpochsAndNotTheList) {
  const Fabric fabric = TwoLayers();
  PathCatalogue catalogue(fabric);
  const NodeId a = Leaf(fabric, 0);
  const NodeId b = Leaf(fabric, 1);
  const NodeId c = Leaf(fabric, 2);
  const std::vector<LinkId> before = catalogue.Paths(a, b).links;
  const uint64_t epoch = catalogue.Epoch(a, b);
  const uint64_t reverse_epoch = catalogue.Epoch(b, a);
  const uint64_t other_epoch = catalogue.Epoch(b, c);
  const LinkId up = before[0];
  EXPECT_TRUE(catalogue.SetHealth(up, 0));
  EXPECT_FALSE(catalogue.SetHealth(up, 0));
  EXPECT_EQ(catalogue.Paths(a, b).links, before);
  EXPECT_FALSE(catalogue.IsUsable(catalogue.Paths(a, b).path(0)));
  EXPECT_TRUE(catalogue.IsUsable(catalogue.Paths(a, b).path(1)));
  // What leaves the leaf is hashed again, and so is traffic of other leaves to it.
  EXPECT_NE(catalogue.Epoch(a, b), epoch);
  EXPECT_NE(catalogue.Epoch(b, a), reverse_epoch);
  EXPECT_EQ(catalogue.Epoch(b, c), other_epoch);
  // A slow link is still a next hop.
  const uint64_t lost = catalogue.Epoch(a, b);
  catalogue.SetHealth(catalogue.Paths(a, b).path(1)[0], 0.5);
  EXPECT_EQ(catalogue.Epoch(a, b), lost);
}

TEST(PathCatalogueTest, ALostCoreLinkMakesTablesBelowItsSpineStale) {
  const Fabric fabric = ThreeLayers();
  PathCatalogue catalogue(fabric);
  const NodeId a = Leaf(fabric, 0);
  const NodeId far = Leaf(fabric, 5);
  const NodeId elsewhere = Leaf(fabric, 2);
  const uint64_t epoch = catalogue.Epoch(a, far);
  const uint64_t other_epoch = catalogue.Epoch(elsewhere, far);
  catalogue.SetHealth(catalogue.Paths(a, far).path(0)[1], 0);
  EXPECT_NE(catalogue.Epoch(a, far), epoch);
  EXPECT_EQ(catalogue.Epoch(elsewhere, far), other_epoch);
}

TEST(PathCatalogueTest, SiblingsAreTheLinksOfTheLowerSwitch) {
  const Fabric fabric = ThreeLayers();
  PathCatalogue catalogue(fabric);
  const auto path = catalogue.Paths(Leaf(fabric, 0), Leaf(fabric, 5)).path(0);
  const std::vector<LinkId> links(path.begin(), path.end());
  EXPECT_EQ(catalogue.Siblings(links[0]).size(), 4u);  // leaf to 4 spines
  EXPECT_EQ(catalogue.Siblings(links[1]).size(), 2u);  // spine to its 2 of 8 cores
  EXPECT_EQ(catalogue.Siblings(links[2]).size(), 2u);
  EXPECT_EQ(catalogue.Siblings(links[3]).size(), 4u);
  for (const LinkId link : links) {
    const std::vector<LinkId> siblings = catalogue.Siblings(link);
    EXPECT_NE(std::find(siblings.begin(), siblings.end(), link), siblings.end());
  }
}

TEST(PathCatalogueTest, TheCacheForgetsAndStaysSmall) {
  const Fabric fabric = ThreeLayers();
  PathCatalogue small(fabric, 2000);
  PathCatalogue large(fabric);
  const size_t empty = small.MemoryBytes();
  for (int round = 0; round < 2; ++round) {
    for (size_t a = 0; a < 6; ++a) {
      for (size_t b = 0; b < 6; ++b) {
        EXPECT_EQ(small.Paths(Leaf(fabric, a), Leaf(fabric, b)).links,
                  large.Paths(Leaf(fabric, a), Leaf(fabric, b)).links);
      }
    }
  }
  EXPECT_LE(small.MemoryBytes() - empty, 3000u);
  EXPECT_GT(large.MemoryBytes(), small.MemoryBytes());
}

}  // namespace
}  // namespace fairlead::traffic::c4p
