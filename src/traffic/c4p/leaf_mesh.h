// Leaf mesh: which leaves can probe each other, and from which ports.
//
// Leaves of one plane that have ports of hosts and that cables join form a mesh: every ordered pair of them is one to
// probe. Port p of a NIC is its p-th network link and belongs to plane p; a leaf may serve several planes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "topology/fabric.h"

namespace fairlead::traffic::c4p {

// An ordered pair of leaves of a mesh, by their places in it. Not equal.
struct MeshEnds {
  uint32_t from = 0;
  uint32_t to = 0;
};

struct LeafMesh {
  uint32_t plane = 0;
  std::vector<NodeId> leaves;            // ascending; two or more
  std::vector<std::vector<NicId>> nics;  // [leaf], ascending: those with port `plane` on it

  uint64_t num_pairs() const { return uint64_t{leaves.size()} * (leaves.size() - 1); }
  // Pair `index` < num_pairs(), and back. As many pairs in a row as there are leaves, beginning at a multiple of that,
  // send once from each leaf and once to each.
  MeshEnds EndsOf(uint64_t index) const;
  uint64_t IndexOf(MeshEnds ends) const;
  // Place of a leaf; nothing when it is in no pair. Cost: O(log leaves).
  std::optional<uint32_t> Find(NodeId leaf) const;
};

// All meshes, by plane, then by their least switch. Links that are down count: they may come back. Cost: O(links log).
std::vector<LeafMesh> BuildLeafMeshes(const topology::Fabric& fabric);

}  // namespace fairlead::traffic::c4p
