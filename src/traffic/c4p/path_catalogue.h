// The paths between leaves, plane by plane: what a path service may choose from.
//
// Problem     a connection may use any equal-cost path between the leaves of its two ports, but none that changes the
//             plane. There are 10^7 pairs of leaves in a large fabric, with up to thousands of paths each.
// Method      only the cables are kept. The paths of a pair are listed on first request, ordered by their links, and
//             remembered until memory runs short. The list is that of the healthy fabric, so a path's index in it
//             remains its permanent name; which of them are usable now follows from the links.
// Cost        construction O(links). First use of a pair: O(uplinks * cores of a spine * spines of the far leaf).
//             Memory: O(links) and the cache; see BM_Catalogue.
// Guarantees  a path begins and ends at the given leaves, goes up and then down, and has the fewest links that the
//             healthy fabric allows. Detours that open up only when links fail are not in the list.
// Differs     the paper catalogues what probes found reliable; here the fabric's cabling is known and probes take links
//             out.
// Reference   Dong et al., C4, HPCA 2025: section on C4P; docs/spec/c4.md sections 9.2 to 9.4.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "topology/fabric.h"
#include "topology/router.h"

namespace fairlead::traffic::c4p {

// One port of a NIC: its two cables to a leaf. Port p of a NIC belongs to plane p.
struct NicPort {
  NodeId leaf;
  LinkId up;    // NIC -> leaf
  LinkId down;  // leaf -> NIC
};

// All shortest paths from one leaf to another, by index; equally long.
struct LeafPaths {
  uint32_t length = 0;        // links of each: 0 (same leaf), 2 (over a spine), 4 (over a core)
  uint32_t num_paths = 0;     // 0: the leaves are not joined
  std::vector<LinkId> links;  // [num_paths][length], flat

  std::span<const LinkId> path(uint32_t index) const { return {links.data() + size_t{index} * length, length}; }
  // Index of the path with these links; nothing when there is none. Cost: O(paths).
  std::optional<uint32_t> Find(std::span<const LinkId> wanted) const;
};

class PathCatalogue {
 public:
  // Of longer lists every n-th path is kept, so that they have at most this many.
  static constexpr uint32_t kMaxPathsPerPair = 1024;
  static constexpr uint32_t kMaxPathLength = 4;
  static constexpr size_t kDefaultCacheBytes = 256u << 20;

  // `fabric` must outlive this. All links healthy.
  explicit PathCatalogue(const topology::Fabric& fabric, size_t cache_bytes = kDefaultCacheBytes);

  const topology::Fabric& fabric() const { return *fabric_; }
  // Most ports of any NIC.
  uint32_t num_planes() const { return num_planes_; }
  // [port] of a NIC, in the order of its links.
  std::span<const NicPort> ports(NicId nic) const {
    return {ports_.data() + first_port_[nic.index()], ports_.data() + first_port_[nic.index() + 1]};
  }

  // Paths of a pair of leaves. Valid until the next call.
  const LeafPaths& Paths(NodeId from_leaf, NodeId to_leaf);

  // The links that do for their switch what `link` does, itself included: up from the same leaf or spine, or down to
  // it. Args: a link between switches.
  std::vector<LinkId> Siblings(LinkId link) const;

  // Fraction of the capacity that is left, 0..1; 0 = takes no new path. Returns false when nothing changed.
  bool SetHealth(LinkId link, double health);
  double health(LinkId link) const { return health_[link]; }
  bool IsUsable(std::span<const LinkId> path) const;

  // Changes whenever a hash table on the way from one leaf to the other may have changed: an answer of an older epoch
  // is worth nothing (docs/spec/c4.md section 9.2: a lost link moves flows of healthy links too).
  uint64_t Epoch(NodeId from_leaf, NodeId to_leaf) const { return epochs_[from_leaf] + epochs_[to_leaf]; }

  // Bytes that this object holds, the cache included.
  size_t MemoryBytes() const;

 private:
  struct SwitchLink {
    NodeId to;
    LinkId link;
  };

  void IndexPorts();
  void IndexSwitchLinks();
  std::span<const SwitchLink> LinksOf(NodeId node) const {
    return {switch_links_.data() + first_switch_link_[node.index()],
            switch_links_.data() + first_switch_link_[node.index() + 1]};
  }
  // Links from one switch to another, in LinkId order.
  std::span<const SwitchLink> LinksBetween(NodeId from, NodeId to) const;
  LeafPaths ListPaths(NodeId from_leaf, NodeId to_leaf) const;
  void AppendPathsOverSpines(NodeId from_leaf, NodeId to_leaf, std::vector<LinkId>* links) const;
  void AppendPathsOverCores(NodeId from_leaf, NodeId to_leaf, std::vector<LinkId>* links) const;
  void BumpEpochs(LinkId link);

  const topology::Fabric* fabric_;
  uint32_t num_planes_ = 1;
  std::vector<NicPort> ports_;
  std::vector<uint32_t> first_port_;         // [NIC] .. [NIC + 1] into ports_
  std::vector<SwitchLink> switch_links_;     // between network switches, by source, then destination, then link
  std::vector<uint32_t> first_switch_link_;  // [node] .. [node + 1] into switch_links_
  topology::LinkHealth health_;
  IdVector<NodeId, uint64_t> epochs_;  // [leaf]; unused for other nodes

  // Two generations: when the young one is full it becomes the old one, and the old one is forgotten.
  std::unordered_map<uint64_t, LeafPaths> young_;
  std::unordered_map<uint64_t, LeafPaths> old_;
  size_t young_bytes_ = 0;
  size_t old_bytes_ = 0;
  size_t cache_bytes_;
};

}  // namespace fairlead::traffic::c4p
