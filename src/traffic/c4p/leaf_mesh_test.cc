#include "traffic/c4p/leaf_mesh.h"

#include <gtest/gtest.h>

#include <set>

#include "traffic/c4p/probe_plan_example.h"

namespace fairlead::traffic::c4p {
namespace {

// n leaves with made-up ids.
LeafMesh MeshOf(uint32_t n) {
  LeafMesh mesh;
  for (uint32_t l = 0; l < n; ++l) mesh.leaves.emplace_back(10 * l);
  return mesh;
}

TEST(LeafMeshTest, IndicesNameAllOrderedPairs) {
  for (uint32_t n = 2; n < 12; ++n) {
    const LeafMesh mesh = MeshOf(n);
    ASSERT_EQ(mesh.num_pairs(), uint64_t{n} * (n - 1));
    std::set<std::pair<uint32_t, uint32_t>> pairs;
    for (uint64_t i = 0; i < mesh.num_pairs(); ++i) {
      const MeshEnds ends = mesh.EndsOf(i);
      EXPECT_NE(ends.from, ends.to);
      EXPECT_LT(ends.to, n);
      EXPECT_EQ(mesh.IndexOf(ends), i);
      pairs.insert({ends.from, ends.to});
    }
    EXPECT_EQ(pairs.size(), mesh.num_pairs());
  }
}

TEST(LeafMeshTest, PairsInARowSpreadOverAllLeaves) {
  const LeafMesh mesh = MeshOf(7);
  for (uint64_t first = 0; first < mesh.num_pairs(); first += 7) {
    std::set<uint32_t> sources;
    std::set<uint32_t> destinations;
    for (uint64_t i = first; i < first + 7; ++i) {
      sources.insert(mesh.EndsOf(i).from);
      destinations.insert(mesh.EndsOf(i).to);
    }
    EXPECT_EQ(sources.size(), 7u);
    EXPECT_EQ(destinations.size(), 7u);
  }
}

TEST(LeafMeshTest, FindsItsLeavesOnly) {
  const LeafMesh mesh = MeshOf(4);
  EXPECT_EQ(mesh.Find(NodeId(0)), 0u);
  EXPECT_EQ(mesh.Find(NodeId(30)), 3u);
  EXPECT_FALSE(mesh.Find(NodeId(15)).has_value());
  EXPECT_FALSE(mesh.Find(NodeId()).has_value());
}

TEST(LeafMeshTest, OneMeshPerPlaneAlsoWhereSpinesAreShared) {
  for (const bool shared_planes : {false, true}) {
    const topology::Fabric fabric = Rails(3, 4, shared_planes);
    const std::vector<LeafMesh> meshes = BuildLeafMeshes(fabric);
    ASSERT_EQ(meshes.size(), 2u);
    for (uint32_t plane = 0; plane < 2; ++plane) {
      EXPECT_EQ(meshes[plane].plane, plane);
      EXPECT_EQ(meshes[plane].leaves.size(), 6u);  // 3 segments, 2 rails
      for (const std::vector<NicId>& nics : meshes[plane].nics) EXPECT_EQ(nics.size(), 4u);
    }
  }
}

}  // namespace
}  // namespace fairlead::traffic::c4p
