#include "traffic/c4p/leaf_mesh.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/disjoint_sets.h"

namespace fairlead::traffic::c4p {

using topology::Fabric;

namespace {

DisjointSets JoinSwitches(const Fabric& fabric) {
  DisjointSets sets(fabric.num_nodes());
  for (uint32_t l = 0; l < fabric.num_links(); ++l) {
    const NodeId a = fabric.source(LinkId(l));
    const NodeId b = fabric.destination(LinkId(l));
    if (IsNetworkSwitch(fabric.kind(a)) && IsNetworkSwitch(fabric.kind(b))) sets.Join(a.value(), b.value());
  }
  return sets;
}

}  // namespace

MeshEnds LeafMesh::EndsOf(uint64_t index) const {
  const uint64_t n = leaves.size();
  const uint64_t from = index % n;
  return {static_cast<uint32_t>(from), static_cast<uint32_t>((from + 1 + index / n) % n)};
}

uint64_t LeafMesh::IndexOf(MeshEnds ends) const {
  const uint64_t n = leaves.size();
  return (ends.to + n - ends.from - 1) % n * n + ends.from;
}

std::optional<uint32_t> LeafMesh::Find(NodeId leaf) const {
  const auto found = std::lower_bound(leaves.begin(), leaves.end(), leaf);
  if (found == leaves.end() || *found != leaf) return std::nullopt;
  return static_cast<uint32_t>(found - leaves.begin());
}

std::vector<LeafMesh> BuildLeafMeshes(const Fabric& fabric) {
  DisjointSets joined = JoinSwitches(fabric);
  std::map<std::pair<uint32_t, uint32_t>, std::map<NodeId, std::vector<NicId>>> nics;  // [plane, set][leaf]
  for (uint32_t n = 0; n < fabric.num_nics(); ++n) {
    uint32_t plane = 0;
    for (const LinkId link : fabric.links_from(fabric.node_of(NicId(n)))) {
      if (!IsNetwork(fabric.tier(link))) continue;
      const NodeId leaf = fabric.destination(link);
      nics[{plane++, joined.Find(leaf.value())}][leaf].push_back(NicId(n));
    }
  }
  std::vector<LeafMesh> meshes;
  for (auto& [plane_and_set, nics_of_leaves] : nics) {
    if (nics_of_leaves.size() < 2) continue;
    LeafMesh& mesh = meshes.emplace_back();
    mesh.plane = plane_and_set.first;
    for (auto& [leaf, nics_of_leaf] : nics_of_leaves) {
      mesh.leaves.push_back(leaf);
      mesh.nics.push_back(std::move(nics_of_leaf));
    }
  }
  return meshes;
}

}  // namespace fairlead::traffic::c4p
