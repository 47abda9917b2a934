#include "traffic/c4p/path_catalogue.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace fairlead::traffic::c4p {

using topology::NodeKind;

namespace {

// Of an entry of the cache, beside its links: node, buckets and the vector's own memory.
constexpr size_t kBytesPerEntry = sizeof(std::pair<uint64_t, LeafPaths>) + 32;

size_t BytesOf(const LeafPaths& paths) { return kBytesPerEntry + paths.links.capacity() * sizeof(LinkId); }

// Every n-th path, so that at most `max_paths` are left.
void Thin(uint32_t length, uint32_t max_paths, std::vector<LinkId>* links) {
  const size_t num_paths = links->size() / length;
  if (num_paths <= max_paths) return;
  for (size_t i = 0; i < max_paths; ++i) {
    const size_t from = i * num_paths / max_paths;
    std::copy_n(links->begin() + static_cast<ptrdiff_t>(from * length), length,
                links->begin() + static_cast<ptrdiff_t>(i * length));
  }
  links->resize(size_t{max_paths} * length);
}

}  // namespace

std::optional<uint32_t> LeafPaths::Find(std::span<const LinkId> wanted) const {
  for (uint32_t i = 0; i < num_paths; ++i) {
    if (std::ranges::equal(path(i), wanted)) return i;
  }
  return std::nullopt;
}

PathCatalogue::PathCatalogue(const topology::Fabric& fabric, size_t cache_bytes)
    : fabric_(&fabric), health_(fabric.num_links(), 1.0), epochs_(fabric.num_nodes(), 0), cache_bytes_(cache_bytes) {
  IndexPorts();
  IndexSwitchLinks();
}

void PathCatalogue::IndexPorts() {
  first_port_.reserve(fabric_->num_nics() + 1);
  first_port_.push_back(0);
  for (size_t n = 0; n < fabric_->num_nics(); ++n) {
    for (const LinkId link : fabric_->links_from(fabric_->node_of(NicId(n)))) {
      if (!topology::IsNetwork(fabric_->tier(link))) continue;
      ports_.push_back({fabric_->destination(link), link, fabric_->reverse(link)});
    }
    num_planes_ = std::max(num_planes_, static_cast<uint32_t>(ports_.size()) - first_port_.back());
    first_port_.push_back(static_cast<uint32_t>(ports_.size()));
  }
}

void PathCatalogue::IndexSwitchLinks() {
  first_switch_link_.reserve(fabric_->num_nodes() + 1);
  first_switch_link_.push_back(0);
  for (size_t n = 0; n < fabric_->num_nodes(); ++n) {
    const NodeId node(n);
    if (topology::IsNetworkSwitch(fabric_->kind(node))) {
      for (const LinkId link : fabric_->links_from(node)) {
        const NodeId to = fabric_->destination(link);
        if (topology::IsNetworkSwitch(fabric_->kind(to))) switch_links_.push_back({to, link});
      }
    }
    std::sort(
        switch_links_.begin() + first_switch_link_.back(), switch_links_.end(),
        [](const SwitchLink& a, const SwitchLink& b) { return std::pair(a.to, a.link) < std::pair(b.to, b.link); });
    first_switch_link_.push_back(static_cast<uint32_t>(switch_links_.size()));
  }
}

std::span<const PathCatalogue::SwitchLink> PathCatalogue::LinksBetween(NodeId from, NodeId to) const {
  const std::span<const SwitchLink> all = LinksOf(from);
  const auto [begin, end] = std::equal_range(all.begin(), all.end(), SwitchLink{to, LinkId()},
                                             [](const SwitchLink& a, const SwitchLink& b) { return a.to < b.to; });
  return {begin, end};
}

const LeafPaths& PathCatalogue::Paths(NodeId from_leaf, NodeId to_leaf) {
  const uint64_t key = uint64_t{from_leaf.value()} << 32 | to_leaf.value();
  if (const auto found = young_.find(key); found != young_.end()) return found->second;
  LeafPaths paths;
  if (const auto found = old_.find(key); found != old_.end()) {
    paths = std::move(found->second);
    old_.erase(found);
    old_bytes_ -= BytesOf(paths);
  } else {
    paths = ListPaths(from_leaf, to_leaf);
  }
  if (young_bytes_ >= cache_bytes_ / 2) {
    old_ = std::exchange(young_, {});
    old_bytes_ = std::exchange(young_bytes_, 0);
  }
  young_bytes_ += BytesOf(paths);
  return young_.emplace(key, std::move(paths)).first->second;
}

LeafPaths PathCatalogue::ListPaths(NodeId from_leaf, NodeId to_leaf) const {
  LeafPaths paths;
  if (from_leaf == to_leaf) {
    paths.num_paths = 1;
    return paths;
  }
  paths.length = 2;
  AppendPathsOverSpines(from_leaf, to_leaf, &paths.links);
  if (paths.links.empty()) {
    paths.length = 4;
    AppendPathsOverCores(from_leaf, to_leaf, &paths.links);
  }
  Thin(paths.length, kMaxPathsPerPair, &paths.links);
  paths.links.shrink_to_fit();
  paths.num_paths = static_cast<uint32_t>(paths.links.size() / paths.length);
  return paths;
}

void PathCatalogue::AppendPathsOverSpines(NodeId from_leaf, NodeId to_leaf, std::vector<LinkId>* links) const {
  for (const SwitchLink& up : LinksOf(from_leaf)) {
    for (const SwitchLink& down : LinksBetween(up.to, to_leaf)) links->insert(links->end(), {up.link, down.link});
  }
}

void PathCatalogue::AppendPathsOverCores(NodeId from_leaf, NodeId to_leaf, std::vector<LinkId>* links) const {
  // Cables are pairs of links, so the far leaf's own links tell which spines lead down to it.
  const std::span<const SwitchLink> far_spines = LinksOf(to_leaf);
  for (const SwitchLink& up : LinksOf(from_leaf)) {
    for (const SwitchLink& to_core : LinksOf(up.to)) {
      if (fabric_->kind(to_core.to) != NodeKind::kCore) continue;
      for (const SwitchLink& far : far_spines) {
        const LinkId down = fabric_->reverse(far.link);
        for (const SwitchLink& from_core : LinksBetween(to_core.to, far.to)) {
          links->insert(links->end(), {up.link, to_core.link, from_core.link, down});
        }
      }
    }
  }
}

std::vector<LinkId> PathCatalogue::Siblings(LinkId link) const {
  const NodeId source = fabric_->source(link);
  const NodeId destination = fabric_->destination(link);
  const bool is_up = fabric_->kind(source) < fabric_->kind(destination);
  const NodeId lower = is_up ? source : destination;
  std::vector<LinkId> siblings;
  for (const SwitchLink& other : LinksOf(lower)) {
    if (fabric_->kind(other.to) <= fabric_->kind(lower)) continue;
    siblings.push_back(is_up ? other.link : fabric_->reverse(other.link));
  }
  return siblings;
}

bool PathCatalogue::SetHealth(LinkId link, double health) {
  FL_CHECK(health >= 0 && health <= 1);
  if (health_[link] == health) return false;
  const bool was_usable = health_[link] > 0;
  health_[link] = health;
  // Switches hash over the links that are there, however fast they are.
  if (was_usable == (health > 0)) return true;
  BumpEpochs(link);
  return true;
}

// A lost uplink changes the tables of its leaf, and those of all other leaves for what goes to it. A lost link between
// spine and core does the same for every leaf below the spine. Ports of NICs are in no table that others hash over.
void PathCatalogue::BumpEpochs(LinkId link) {
  for (const NodeId end : {fabric_->source(link), fabric_->destination(link)}) {
    if (fabric_->tier(link) == topology::LinkTier::kLeafSpine && fabric_->kind(end) == NodeKind::kLeaf) {
      ++epochs_[end];
    } else if (fabric_->tier(link) == topology::LinkTier::kSpineCore && fabric_->kind(end) == NodeKind::kSpine) {
      for (const SwitchLink& below : LinksOf(end)) {
        if (fabric_->kind(below.to) == NodeKind::kLeaf) ++epochs_[below.to];
      }
    }
  }
}

bool PathCatalogue::IsUsable(std::span<const LinkId> path) const {
  return std::all_of(path.begin(), path.end(), [&](LinkId link) { return health_[link] > 0; });
}

size_t PathCatalogue::MemoryBytes() const {
  return ports_.capacity() * sizeof(NicPort) + first_port_.capacity() * sizeof(uint32_t) +
         switch_links_.capacity() * sizeof(SwitchLink) + first_switch_link_.capacity() * sizeof(uint32_t) +
         health_.size() * sizeof(double) + epochs_.size() * sizeof(uint64_t) + young_bytes_ + old_bytes_;
}

}  // namespace fairlead::traffic::c4p
