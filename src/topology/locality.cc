#include "topology/locality.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/disjoint_sets.h"

namespace fairlead::topology {

namespace {

// Numbers keys densely in order of first appearance.
template <class Key>
class Numbering {
 public:
  uint32_t NumberOf(const Key& key) {
    return numbers_.emplace(key, static_cast<uint32_t>(numbers_.size())).first->second;
  }
  uint32_t size() const { return static_cast<uint32_t>(numbers_.size()); }
  const std::map<Key, uint32_t>& numbers() const { return numbers_; }

 private:
  std::map<Key, uint32_t> numbers_;
};

// Sorted set of f(leaf) over the cabled ports of one NIC.
template <class Function>
void CollectLeaves(const Fabric& fabric, NicId nic, std::vector<uint32_t>* leaves, Function f) {
  for (const LinkId link : fabric.links_from(fabric.node_of(nic))) {
    if (fabric.tier(link) == LinkTier::kHostLeaf) leaves->push_back(f(fabric.destination(link)));
  }
}

void SortAndDeduplicate(std::vector<uint32_t>* values) {
  std::sort(values->begin(), values->end());
  values->erase(std::unique(values->begin(), values->end()), values->end());
}

uint32_t RailOf(const Fabric& fabric, NicId nic) { return nic.value() - fabric.first_nic(fabric.host_of(nic)).value(); }

// Switches that are cabled to each other, directly or over others, are one set.
DisjointSets JoinSwitches(const Fabric& fabric) {
  DisjointSets sets(fabric.num_nodes());
  for (size_t l = 0; l < fabric.num_links(); l += 2) {
    const LinkId link(l);
    if (fabric.tier(link) > LinkTier::kHostLeaf) {
      sets.Join(fabric.source(link).value(), fabric.destination(link).value());
    }
  }
  return sets;
}

bool Intersect(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
  return std::find_first_of(a.begin(), a.end(), b.begin(), b.end()) != a.end();
}

}  // namespace

HostGroups FindLeafGroups(const Fabric& fabric) {
  HostGroups groups;
  Numbering<std::vector<uint32_t>> numbering;
  std::vector<uint32_t> leaves;
  for (size_t h = 0; h < fabric.num_hosts(); ++h) {
    leaves.clear();
    for (uint32_t n = 0; n < fabric.num_nics_of(HostId(h)); ++n) {
      CollectLeaves(fabric, fabric.nic(HostId(h), n), &leaves, [](NodeId leaf) { return leaf.value(); });
    }
    SortAndDeduplicate(&leaves);
    groups.group_of.push_back(numbering.NumberOf(leaves));
  }
  groups.num_groups = numbering.size();
  return groups;
}

HostGroups FindPods(const Fabric& fabric) {
  DisjointSets sets(fabric.num_nodes());
  for (size_t l = 0; l < fabric.num_links(); l += 2) {
    const LinkId link(l);
    if (fabric.tier(link) != LinkTier::kSpineCore) {
      sets.Join(fabric.source(link).value(), fabric.destination(link).value());
    }
  }
  HostGroups pods;
  Numbering<uint32_t> numbering;
  for (size_t h = 0; h < fabric.num_hosts(); ++h) {
    const NodeId any_node = fabric.node_of(fabric.first_gpu(HostId(h)));
    pods.group_of.push_back(numbering.NumberOf(sets.Find(any_node.value())));
  }
  pods.num_groups = numbering.size();
  return pods;
}

SwitchPlanes FindPlanes(const Fabric& fabric) {
  DisjointSets networks = JoinSwitches(fabric);
  SwitchPlanes planes;
  Numbering<uint32_t> numbering;
  for (size_t n = 0; n < fabric.num_nodes(); ++n) {
    const bool is_switch = IsNetworkSwitch(fabric.kind(NodeId(n)));
    planes.plane_of.push_back(is_switch ? numbering.NumberOf(networks.Find(static_cast<uint32_t>(n)))
                                        : SwitchPlanes::kNone);
  }
  planes.num_planes = numbering.size();
  return planes;
}

Status CheckConnected(const Fabric& fabric) {
  DisjointSets sets = JoinSwitches(fabric);
  // NICs that see the same networks need one representative: first and last, so that the message names two hosts.
  // By rail first where rails need not meet.
  std::map<std::pair<uint32_t, std::vector<uint32_t>>, std::pair<NicId, NicId>> nics_by_networks;
  std::vector<uint32_t> networks;
  for (size_t n = 0; n < fabric.num_nics(); ++n) {
    networks.clear();
    CollectLeaves(fabric, NicId(n), &networks, [&](NodeId leaf) { return sets.Find(leaf.value()); });
    SortAndDeduplicate(&networks);
    const uint32_t rail = fabric.joins_rails() ? 0 : RailOf(fabric, NicId(n));
    const auto [entry, is_new] = nics_by_networks.try_emplace({rail, networks}, NicId(n), NicId(n));
    entry->second.second = NicId(n);
  }
  for (auto a = nics_by_networks.begin(); a != nics_by_networks.end(); ++a) {
    for (auto b = std::next(a); b != nics_by_networks.end(); ++b) {
      if (a->first.first != b->first.first || Intersect(a->first.second, b->first.second)) continue;
      return InvalidArgument(fmt::format(
          "the fabric is disconnected: {} and {} cannot reach each other; expected a chain of switches between all "
          "NICs",
          fabric.NodeName(fabric.node_of(a->second.first)), fabric.NodeName(fabric.node_of(b->second.second))));
    }
  }
  return OkStatus();
}

}  // namespace fairlead::topology
