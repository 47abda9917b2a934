#include "topology/network_routes.h"

#include <algorithm>
#include <limits>
#include <map>

#include "base/check.h"
#include "base/random.h"

namespace fairlead::topology {

namespace {

uint64_t SaturatingAdd(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<uint64_t>::max() : sum;
}

// Uniform in [0, n) from a well-mixed hash, without division.
uint32_t Scale(uint64_t hash, uint32_t n) { return static_cast<uint32_t>(((hash >> 32) * n) >> 32); }

// What a node makes of a five-tuple. Seeds of different nodes are unrelated, so choices do not polarize.
uint64_t HashAt(NodeId node, uint64_t tuple_hash, uint64_t seed) {
  return CombineHash(CombineHash(seed, node.value()), tuple_hash);
}

}  // namespace

NetworkRoutes::NetworkRoutes(const Fabric& fabric, const std::vector<uint8_t>& is_up, size_t cache_bytes)
    : fabric_(&fabric), is_up_(&is_up) {
  IndexSwitches();
  const size_t table_bytes = std::max<size_t>(switches_.size(), 1) * sizeof(Hop);
  max_tables_ = std::max<size_t>(cache_bytes / table_bytes, 1);
  Reset();
}

void NetworkRoutes::IndexSwitches() {
  switch_of_.resize(fabric_->num_nodes());
  for (size_t n = 0; n < fabric_->num_nodes(); ++n) {
    if (!IsNetworkSwitch(fabric_->kind(NodeId(n)))) continue;
    switch_of_[NodeId(n)] = static_cast<uint32_t>(switches_.size());
    switches_.emplace_back(n);
  }
  for (const NodeId node : switches_) {
    switch_links_first_.push_back(static_cast<uint32_t>(switch_links_.size()));
    for (const LinkId link : fabric_->links_from(node)) {
      if (fabric_->tier(link) == LinkTier::kHostLeaf) continue;
      switch_links_.push_back({.link = link, .next = switch_of_[fabric_->destination(link)]});
    }
  }
  switch_links_first_.push_back(static_cast<uint32_t>(switch_links_.size()));
}

size_t NetworkRoutes::CountTables() const {
  return static_cast<size_t>(
      std::count_if(tables_.begin(), tables_.end(), [](const Table& table) { return !table.hops.empty(); }));
}

void NetworkRoutes::Reset() {
  for (SwitchLink& entry : switch_links_) {
    entry.is_up = (*is_up_)[entry.link.index()] != 0;
    entry.reverse_is_up = (*is_up_)[fabric_->reverse(entry.link).index()] != 0;
  }
  FindClasses();
  tables_.assign(classes_.size(), Table());
  num_tables_ = 0;
}

void NetworkRoutes::FindClasses() {
  classes_.clear();
  nic_classes_.assign(fabric_->num_nics(), 0);
  std::map<std::vector<uint32_t>, uint32_t> numbers;
  std::vector<uint32_t> leaves;
  for (size_t n = 0; n < fabric_->num_nics(); ++n) {
    leaves.clear();
    for (const LinkId link : fabric_->links_from(fabric_->node_of(NicId(n)))) {
      if (fabric_->tier(link) != LinkTier::kHostLeaf || !(*is_up_)[fabric_->reverse(link).index()]) continue;
      leaves.push_back(switch_of_[fabric_->destination(link)]);
    }
    std::sort(leaves.begin(), leaves.end());
    const auto [entry, is_new] = numbers.emplace(leaves, static_cast<uint32_t>(classes_.size()));
    nic_classes_[NicId(n)] = entry->second;
    if (!is_new) continue;
    std::vector<Attachment>& attachments = classes_.emplace_back();
    for (const uint32_t leaf : leaves) {
      if (attachments.empty() || attachments.back().leaf != leaf) attachments.push_back({.leaf = leaf});
      ++attachments.back().num_links;
    }
  }
}

const NetworkRoutes::Table& NetworkRoutes::TableTo(NicId destination) {
  const uint32_t nic_class = nic_classes_[destination];
  Table& table = tables_[nic_class];
  table.last_use = ++clock_;
  if (table.hops.empty()) {
    if (num_tables_ == max_tables_) EvictOldest();
    ComputeTable(nic_class, &table);
    ++num_tables_;
  }
  return table;
}

// A linear search: it costs a thousandth of the search that fills the place.
void NetworkRoutes::EvictOldest() {
  Table* oldest = nullptr;
  for (Table& table : tables_) {
    if (!table.hops.empty() && (oldest == nullptr || table.last_use < oldest->last_use)) oldest = &table;
  }
  FL_CHECK(oldest != nullptr);
  *oldest = Table();
  --num_tables_;
}

// Switches leave the queue by distance, so when one does, all switches one hop nearer have their numbers.
void NetworkRoutes::ComputeTable(uint32_t nic_class, Table* table) {
  std::vector<Hop>& hops = table->hops;
  hops.assign(switches_.size(), Hop());
  queue_.clear();
  for (const Attachment& attachment : classes_[nic_class]) {
    hops[attachment.leaf].distance = 1;
    hops[attachment.leaf].num_paths = attachment.num_links;
    queue_.push_back(attachment.leaf);
  }
  for (size_t head = 0; head < queue_.size(); ++head) {
    Hop& hop = hops[queue_[head]];
    uint32_t last = 0;
    for (uint32_t i = switch_links_first_[queue_[head]]; i < switch_links_first_[queue_[head] + 1]; ++i) {
      const SwitchLink& entry = switch_links_[i];
      Hop& other = hops[entry.next];
      if (other.distance == kUnreachable && entry.reverse_is_up && hop.distance + 1 < kUnreachable) {
        other.distance = static_cast<uint16_t>(hop.distance + 1);
        queue_.push_back(entry.next);
      } else if (entry.is_up && other.distance + 1 == hop.distance) {
        if (hop.num_paths == 0) hop.first = i;
        hop.num_paths = SaturatingAdd(hop.num_paths, other.num_paths);
        last = i;
      }
    }
    if (hop.distance > 1) hop.width = static_cast<uint16_t>(last + 1 - hop.first);
  }
}

template <class Function>
void NetworkRoutes::ForFirstLinks(NicId source, const Table& table, uint16_t distance, Function f) const {
  for (const LinkId link : fabric_->links_from(fabric_->node_of(source))) {
    if (fabric_->tier(link) != LinkTier::kHostLeaf || !(*is_up_)[link.index()]) continue;
    const uint32_t leaf = switch_of_[fabric_->destination(link)];
    if (table.hops[leaf].distance == distance && f(link, leaf)) return;
  }
}

void NetworkRoutes::FindLastLinks(NicId destination) {
  last_links_.clear();
  for (const LinkId link : fabric_->links_from(fabric_->node_of(destination))) {
    const LinkId towards_nic = fabric_->reverse(link);
    if (fabric_->tier(link) != LinkTier::kHostLeaf || !(*is_up_)[towards_nic.index()]) continue;
    last_links_.emplace_back(switch_of_[fabric_->destination(link)], towards_nic);
  }
}

template <class Function>
void NetworkRoutes::ForLastLinks(uint32_t at, Function f) const {
  for (const auto& [leaf, link] : last_links_) {
    if (leaf == at && f(link)) return;
  }
}

template <class Function>
void NetworkRoutes::ForNextLinks(const Table& table, const Hop& hop, Function f) const {
  if (hop.width == 1) {
    f(switch_links_[hop.first]);
    return;
  }
  for (uint32_t i = hop.first; i < hop.first + hop.width; ++i) {
    const SwitchLink& entry = switch_links_[i];
    if (entry.is_up && table.hops[entry.next].distance + 1 == hop.distance && f(entry)) return;
  }
}

NetworkRoutes::FirstHops NetworkRoutes::FindFirstHops(NicId source, const Table& table) const {
  FirstHops first;
  for (const LinkId link : fabric_->links_from(fabric_->node_of(source))) {
    if (fabric_->tier(link) != LinkTier::kHostLeaf || !(*is_up_)[link.index()]) continue;
    const Hop& hop = table.hops[switch_of_[fabric_->destination(link)]];
    if (hop.distance > first.distance || hop.distance == kUnreachable) continue;
    if (hop.distance < first.distance) first = {.distance = hop.distance, .num_paths = 0};
    first.num_paths = SaturatingAdd(first.num_paths, hop.num_paths);
  }
  return first;
}

uint64_t NetworkRoutes::Count(NicId source, NicId destination) {
  return FindFirstHops(source, TableTo(destination)).num_paths;
}

size_t NetworkRoutes::Length(NicId source, NicId destination) {
  return FindFirstHops(source, TableTo(destination)).distance + size_t{1};
}

void NetworkRoutes::Append(NicId source, NicId destination, uint64_t index, std::vector<LinkId>* path) {
  const Table& table = TableTo(destination);
  const FirstHops first = FindFirstHops(source, table);
  FL_CHECK(index < first.num_paths);
  uint32_t at = 0;
  // Takes the link to the subtree that the index falls into.
  const auto choose = [&](LinkId link, uint32_t next) {
    const uint64_t num_paths = table.hops[next].num_paths;
    if (index >= num_paths) {
      index -= num_paths;
      return false;
    }
    path->push_back(link);
    at = next;
    return true;
  };
  ForFirstLinks(source, table, first.distance, choose);
  for (uint16_t distance = first.distance; distance > 1; --distance) {
    ForNextLinks(table, table.hops[at], [&](const SwitchLink& entry) { return choose(entry.link, entry.next); });
  }
  FindLastLinks(destination);
  ForLastLinks(at, [&](LinkId link) {
    if (index-- > 0) return false;
    path->push_back(link);
    return true;
  });
}

// A subtree of the paths is a block of rows; its first links fill one column of the block, one run of rows per link.
void NetworkRoutes::WriteAll(NicId source, NicId destination, LinkId* links) {
  const Table& table = TableTo(destination);
  const FirstHops first = FindFirstHops(source, table);
  const size_t length = first.distance + size_t{1};
  const auto fill = [&](LinkId link, uint64_t rows, size_t column, LinkId* begin) {
    for (uint64_t r = 0; r < rows; ++r) begin[r * length + column] = link;
    return begin + rows * length;
  };
  FindLastLinks(destination);
  blocks_.clear();
  LinkId* row = links;
  ForFirstLinks(source, table, first.distance, [&](LinkId link, uint32_t leaf) {
    blocks_.push_back({.at = leaf, .column = 1, .begin = row});
    row = fill(link, table.hops[leaf].num_paths, 0, row);
    return false;
  });
  while (!blocks_.empty()) {
    const Block block = blocks_.back();
    blocks_.pop_back();
    row = block.begin;
    const Hop& hop = table.hops[block.at];
    if (hop.distance == 1) {
      ForLastLinks(block.at, [&](LinkId link) {
        row = fill(link, 1, block.column, row);
        return false;
      });
      continue;
    }
    ForNextLinks(table, hop, [&](const SwitchLink& entry) {
      blocks_.push_back({.at = entry.next, .column = block.column + 1, .begin = row});
      row = fill(entry.link, table.hops[entry.next].num_paths, block.column, row);
      return false;
    });
  }
}

bool NetworkRoutes::AppendHashed(NicId source, NicId destination, uint64_t tuple_hash, uint64_t seed,
                                 std::optional<uint32_t> port, std::vector<LinkId>* path) {
  const Table& table = TableTo(destination);
  const FirstHops first = FindFirstHops(source, table);
  if (first.num_paths == 0) return false;
  uint32_t at = 0;
  // Runs a walk over the next links of `node` twice: to count them, and to take the one that the hash says.
  const auto choose = [&](NodeId node, std::optional<uint32_t> preference, auto walk) {
    uint32_t num_links = 0;
    walk([&](LinkId, uint32_t) {
      ++num_links;
      return false;
    });
    uint32_t skip = preference ? *preference % num_links : Scale(HashAt(node, tuple_hash, seed), num_links);
    walk([&](LinkId link, uint32_t next) {
      if (skip-- > 0) return false;
      path->push_back(link);
      at = next;
      return true;
    });
  };
  choose(fabric_->node_of(source), port, [&](auto f) { ForFirstLinks(source, table, first.distance, f); });
  for (uint16_t distance = first.distance; distance > 1; --distance) {
    const Hop& hop = table.hops[at];
    choose(switches_[at], std::nullopt, [&](auto f) {
      ForNextLinks(table, hop, [&](const SwitchLink& entry) { return f(entry.link, entry.next); });
    });
  }
  FindLastLinks(destination);
  choose(switches_[at], std::nullopt, [&](auto f) { ForLastLinks(at, [&](LinkId link) { return f(link, 0); }); });
  return true;
}

}  // namespace fairlead::topology
