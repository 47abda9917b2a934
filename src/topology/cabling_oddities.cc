#include "topology/cabling_oddities.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/disjoint_sets.h"

namespace fairlead::topology {

namespace {

// The value that more than half of all have.
template <class T>
std::optional<T> Majority(const std::map<T, size_t>& counts) {
  size_t total = 0;
  for (const auto& [value, count] : counts) total += count;
  for (const auto& [value, count] : counts) {
    if (2 * count > total) return value;
  }
  return std::nullopt;
}

using SwitchPair = std::pair<NodeId, NodeId>;  // lower, upper

class OddityFinder {
 public:
  explicit OddityFinder(const Fabric& fabric) : fabric_(fabric) {}

  CablingOddities Find() {
    FindBetween(NodeKind::kLeaf);
    FindBetween(NodeKind::kSpine);
    FindHostSpeeds();
    FindHostCounts();
    FindCrossedNics();
    return std::move(oddities_);
  }

 private:
  // A block: switches of two neighbouring layers that hang together.
  struct Block {
    std::vector<NodeId> lower;
    std::vector<NodeId> upper;
    std::map<SwitchPair, uint32_t> cables;
    std::vector<LinkId> links;
  };

  void FindBetween(NodeKind lower_kind) {
    const auto upper_kind = static_cast<NodeKind>(static_cast<int>(lower_kind) + 1);
    DisjointSets sets(fabric_.num_nodes());
    const auto for_each_uplink = [&](const auto& visit) {
      for (const NodeId node : fabric_.switches(lower_kind)) {
        for (const LinkId link : fabric_.links_from(node)) {
          if (fabric_.kind(fabric_.destination(link)) == upper_kind) visit(link);
        }
      }
    };
    for_each_uplink([&](LinkId link) { sets.Join(fabric_.source(link).value(), fabric_.destination(link).value()); });
    std::map<uint32_t, Block> blocks;
    for (const NodeId node : fabric_.switches(lower_kind)) blocks[sets.Find(node.value())].lower.push_back(node);
    for (const NodeId node : fabric_.switches(upper_kind)) blocks[sets.Find(node.value())].upper.push_back(node);
    for_each_uplink([&](LinkId link) {
      Block& block = blocks[sets.Find(fabric_.source(link).value())];
      ++block.cables[{fabric_.source(link), fabric_.destination(link)}];
      block.links.push_back(link);
    });
    FindCutOff(blocks);
    for (const auto& [root, block] : blocks) {
      FindCounts(block);
      FindSpeeds(block.links);
    }
  }

  // A switch without any uplink is a separate block; where most have uplinks it misses all of them.
  void FindCutOff(const std::map<uint32_t, Block>& blocks) {
    std::map<uint32_t, size_t> uplinks;
    std::vector<NodeId> without;
    for (const auto& [root, block] : blocks) {
      std::map<NodeId, uint32_t> counts;
      for (const auto& [pair, cables] : block.cables) counts[pair.first] += cables;
      for (const auto& [node, cables] : counts) ++uplinks[cables];
      if (block.cables.empty() && !block.lower.empty()) without.push_back(block.lower.front());
    }
    if (!without.empty()) uplinks[0] += without.size();
    const auto expected = Majority(uplinks);
    if (!expected || *expected == 0) return;
    for (const NodeId node : without)
      oddities_.counts.push_back({.lower = node, .upper = {}, .found = 0, .expected = *expected});
  }

  void FindCounts(const Block& block) {
    if (block.cables.empty()) return;
    const size_t num_pairs = block.lower.size() * block.upper.size();
    std::map<uint32_t, size_t> counts;
    for (const auto& [pair, cables] : block.cables) ++counts[cables];
    counts[0] += num_pairs - block.cables.size();
    const auto expected = Majority(counts);
    if (expected && *expected > 0) {
      // More than half of all pairs have cables, so that looking at each is no more work than reading the cables was.
      for (const NodeId lower : block.lower) {
        for (const NodeId upper : block.upper) {
          const auto found = block.cables.find({lower, upper});
          const uint32_t cables = found == block.cables.end() ? 0 : found->second;
          if (cables != *expected) {
            oddities_.counts.push_back({.lower = lower, .upper = upper, .found = cables, .expected = *expected});
          }
        }
      }
      return;
    }
    std::map<NodeId, uint32_t> uplinks;
    for (const auto& [pair, cables] : block.cables) uplinks[pair.first] += cables;
    std::map<uint32_t, size_t> by_number;
    for (const auto& [node, cables] : uplinks) ++by_number[cables];
    const auto usual = Majority(by_number);
    if (!usual) return;
    for (const auto& [node, cables] : uplinks) {
      if (cables != *usual)
        oddities_.counts.push_back({.lower = node, .upper = {}, .found = cables, .expected = *usual});
    }
  }

  void FindSpeeds(const std::vector<LinkId>& links) {
    std::map<double, size_t> speeds;
    for (const LinkId link : links) ++speeds[fabric_.capacity(link).value()];
    const auto expected = Majority(speeds);
    if (!expected) return;
    for (const LinkId link : links) {
      if (fabric_.capacity(link).value() == *expected) continue;
      oddities_.speeds.push_back({.link = link, .expected = BytesPerSecond(*expected)});
    }
  }

  std::vector<LinkId> CablesOf(NodeId nic) const {
    std::vector<LinkId> cables;
    for (const LinkId link : fabric_.links_from(nic)) {
      if (IsNetwork(fabric_.tier(link))) cables.push_back(link);
    }
    return cables;
  }
  NodeId NicOf(HostId host, uint32_t number) const { return fabric_.node_of(fabric_.nic(host, number)); }

  void FindHostSpeeds() {
    std::vector<LinkId> links;
    for (size_t n = 0; n < fabric_.num_nics(); ++n) {
      for (const LinkId link : CablesOf(fabric_.node_of(NicId(n)))) links.push_back(link);
    }
    FindSpeeds(links);
  }

  void FindHostCounts() {
    std::map<uint32_t, size_t> counts;
    std::vector<uint32_t> found;
    for (HostId host(0u); host.index() < fabric_.num_hosts(); host = HostId(host.index() + 1)) {
      uint32_t cables = 0;
      for (uint32_t n = 0; n < fabric_.num_nics_of(host); ++n)
        cables += static_cast<uint32_t>(CablesOf(NicOf(host, n)).size());
      found.push_back(cables);
      ++counts[cables];
    }
    const auto expected = Majority(counts);
    for (size_t h = 0; expected && h < found.size(); ++h) {
      if (found[h] != *expected)
        oddities_.hosts.push_back({.host = HostId(h), .found = found[h], .expected = *expected});
    }
  }

  std::vector<NodeId> LeavesOf(NodeId nic) const {
    std::vector<NodeId> leaves;
    for (const LinkId link : CablesOf(nic)) leaves.push_back(fabric_.destination(link));
    std::ranges::sort(leaves);
    return leaves;
  }

  // Hosts on the same set of leaves are one group. A host's peers are its own group; but where the largest group on one
  // of its leaves is three times as large, that one, or of several the one that most of its NICs are placed like.
  void FindCrossedNics() {
    std::vector<size_t> sizes(fabric_.num_leaf_groups(), 0);
    std::map<NodeId, uint32_t> largest;  // group on each leaf
    const auto for_each_host = [&](const auto& visit) {
      for (HostId host(0u); host.index() < fabric_.num_hosts(); host = HostId(host.index() + 1)) visit(host);
    };
    for_each_host([&](HostId host) { ++sizes[fabric_.leaf_group(host)]; });
    const auto leaves_of_host = [&](HostId host) {
      std::set<NodeId> leaves;
      for (uint32_t n = 0; n < fabric_.num_nics_of(host); ++n) {
        for (const NodeId leaf : LeavesOf(NicOf(host, n))) leaves.insert(leaf);
      }
      return leaves;
    };
    for_each_host([&](HostId host) {
      const uint32_t group = fabric_.leaf_group(host);
      for (const NodeId leaf : leaves_of_host(host)) {
        const auto [best, is_new] = largest.emplace(leaf, group);
        if (!is_new && sizes[group] > sizes[best->second]) best->second = group;
      }
    });
    // Of each group and number of NIC: which leaves, how often.
    std::map<std::pair<uint32_t, uint32_t>, std::map<std::vector<NodeId>, size_t>> places;
    for_each_host([&](HostId host) {
      for (uint32_t n = 0; n < fabric_.num_nics_of(host); ++n)
        ++places[{fabric_.leaf_group(host), n}][LeavesOf(NicOf(host, n))];
    });
    std::map<std::pair<uint32_t, uint32_t>, std::optional<std::vector<NodeId>>> usual;
    for (const auto& [key, counts] : places) usual[key] = Majority(counts);
    for_each_host([&](HostId host) {
      uint32_t peers = fabric_.leaf_group(host);
      const size_t size_min = std::max<size_t>(3, 3 * sizes[peers]);
      std::pair<size_t, size_t> best;  // NICs in the usual place, hosts
      for (const NodeId leaf : leaves_of_host(host)) {
        const uint32_t other = largest[leaf];
        if (sizes[other] < size_min) continue;
        size_t num_usual = 0;
        for (uint32_t n = 0; n < fabric_.num_nics_of(host); ++n) {
          const auto place = usual.find({other, n});
          num_usual += place != usual.end() && place->second == LeavesOf(NicOf(host, n)) ? 1 : 0;
        }
        if (std::pair(num_usual, sizes[other]) <= best) continue;
        best = {num_usual, sizes[other]};
        peers = other;
      }
      for (uint32_t n = 0; n < fabric_.num_nics_of(host); ++n) {
        const auto expected = usual.find({peers, n});
        if (expected == usual.end() || !expected->second) continue;
        const std::vector<NodeId> found = LeavesOf(NicOf(host, n));
        // With another number of cables it is not crossed, but counted above.
        if (found.size() != expected->second->size()) continue;
        for (size_t i = 0; i < found.size(); ++i) {
          if (found[i] == (*expected->second)[i]) continue;
          oddities_.nics.push_back({.nic = NicOf(host, n), .found = found[i], .expected = (*expected->second)[i]});
        }
      }
    });
  }

  const Fabric& fabric_;
  CablingOddities oddities_;
};

}  // namespace

CablingOddities FindCablingOddities(const Fabric& fabric) { return OddityFinder(fabric).Find(); }

}  // namespace fairlead::topology
