#include "traffic/c4p/port_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "traffic/source_ports.h"

namespace fairlead::traffic::c4p {
namespace {

Status CheckPort(uint16_t port) {
  if (IsSteeringPort(port)) return OkStatus();
  return InvalidArgument(fmt::format("c4p: source port: expected {} to 65535, found {}", kFirstSourcePort, port));
}

std::string Describe(const AddressPair& pair, uint16_t port) {
  return fmt::format("c4p: source port {} of address {} to {} (protocol {}, port {})", port, pair.source_address,
                     pair.destination_address, pair.protocol, pair.destination_port);
}

bool Holds(const std::vector<uint16_t>& ports, uint16_t port) {
  return std::binary_search(ports.begin(), ports.end(), port);
}

// The first fact of `port` or of a greater one.
template <class Facts>
auto Seek(Facts& facts, uint16_t port) {
  return std::lower_bound(facts.begin(), facts.end(), port,
                          [](const auto& fact, uint16_t wanted) { return fact.port < wanted; });
}

uint64_t HashOf(const AddressPair& pair) {
  return CombineHash(CombineHash(pair.source_address, pair.destination_address),
                     CombineHash(pair.protocol, uint64_t{pair.plane} << 16 | pair.destination_port));
}

// Steps from one place in the ring of ports to another.
uint64_t RingDistance(uint64_t from, uint64_t to) { return (to + kNumSourcePorts - from) % kNumSourcePorts; }

}  // namespace

Status PortMapOptions::Validate() const {
  if (max_pairs < 1) return InvalidArgument("c4p: max_pairs: expected >= 1, found 0");
  if (max_tables_per_pair < 1) return InvalidArgument("c4p: max_tables_per_pair: expected >= 1, found 0");
  if (max_ports_per_table < 1) return InvalidArgument("c4p: max_ports_per_table: expected >= 1, found 0");
  return OkStatus();
}

PortMap::PortMap(PortMapOptions options) : options_(options) { FL_CHECK(options.Validate().ok()); }

Status PortMap::Record(const AddressPair& key, std::span<const SeenPort> seen, uint64_t epoch, SimTime probed_at) {
  for (const SeenPort& one : seen) FL_RETURN_IF_ERROR(CheckPort(one.port));
  const LeafEpoch leaf = leaves_.Find(key.domain());
  if (epoch != leaf.epoch) {
    num_stale_ += seen.size();
    return OkStatus();
  }
  if (seen.empty()) return OkStatus();
  Pair* pair = Touch(key);
  Table* table = MakeTable(pair, leaf.fingerprint);
  // Ascending, so that what is new of a scan goes to the end.
  std::vector<SeenPort> sorted(seen.begin(), seen.end());
  std::ranges::stable_sort(sorted, {}, &SeenPort::port);
  for (const SeenPort& one : sorted) {
    const Fact fact{.port = one.port, .path = one.path, .epoch = epoch, .probed_at = probed_at};
    const auto known = Seek(table->facts, one.port);
    if (known != table->facts.end() && known->port == one.port) {
      Weigh(&*known, fact, pair, table);
    } else {
      table->facts.insert(known, fact);
      if (table->facts.size() > options_.max_ports_per_table) DropOldestFact(*pair, table);
    }
  }
  const uint64_t start = ScanStart(key, pair);
  pair->last_port = std::ranges::max(seen, {}, [&](const SeenPort& one) {
                      return RingDistance(start, uint64_t{one.port} - kFirstSourcePort);
                    }).port;
  return OkStatus();
}

// Replaces knowledge about a port by the new observation, and draws the conclusions.
void PortMap::Weigh(Fact* known, const Fact& seen, Pair* pair, Table* table) {
  if (known->epoch == seen.epoch && seen.probed_at < known->probed_at) {
    ++num_late_;
    return;
  }
  const bool differs = known->path != seen.path;
  const bool was_revived = known->epoch != seen.epoch;
  *known = seen;
  if (!differs) return;
  if (!was_revived) {
    ++num_conflicts_;
    pair->unstable_in = seen.epoch;
    return;
  }
  ++num_refuted_;
  std::erase_if(table->facts, [&](const Fact& fact) { return fact.epoch != seen.epoch; });
}

// The oldest by its probe; ports of live connections stay.
void PortMap::DropOldestFact(const Pair& pair, Table* table) const {
  auto oldest = table->facts.end();
  for (auto fact = table->facts.begin(); fact != table->facts.end(); ++fact) {
    if (Holds(pair.reserved, fact->port)) continue;
    if (oldest == table->facts.end() || fact->probed_at < oldest->probed_at) oldest = fact;
  }
  if (oldest != table->facts.end()) table->facts.erase(oldest);
}

void PortMap::Forget(const AddressPair& key) {
  const auto pair = pairs_.find(key);
  if (pair == pairs_.end()) return;
  const std::vector<uint16_t> taken = TakenPorts(key);
  for (Table& table : pair->second.tables) {
    std::erase_if(table.facts, [&](const Fact& fact) { return !Holds(taken, fact.port); });
  }
}

std::optional<uint32_t> PortMap::PathOf(const AddressPair& key, uint16_t port) const {
  const LeafEpoch leaf = leaves_.Find(key.domain());
  const Table* table = TableOf(key, leaf.fingerprint);
  if (table == nullptr) return std::nullopt;
  const auto known = Seek(table->facts, port);
  if (known == table->facts.end() || known->port != port || known->epoch != leaf.epoch) return std::nullopt;
  return known->path;
}

std::vector<PortCandidate> PortMap::Candidates(const AddressPair& key, uint32_t path, PortRange range) const {
  std::vector<PortCandidate> candidates;
  const LeafEpoch leaf = leaves_.Find(key.domain());
  const Table* table = TableOf(key, leaf.fingerprint);
  if (table == nullptr) return candidates;
  const std::vector<uint16_t> taken = TakenPorts(key);
  for (const Fact& fact : table->facts) {
    if (fact.path != path || !range.Contains(fact.port) || Holds(taken, fact.port)) continue;
    candidates.push_back({.port = fact.port, .is_confirmed = fact.epoch == leaf.epoch, .probed_at = fact.probed_at});
  }
  std::stable_partition(candidates.begin(), candidates.end(), [](const PortCandidate& c) { return c.is_confirmed; });
  return candidates;
}

PortAnswer PortMap::FindPort(const AddressPair& key, uint32_t path, uint32_t num_paths, PortRange range) const {
  const std::vector<PortCandidate> candidates = Candidates(key, path, range);
  if (!candidates.empty()) {
    const PortCandidate& best = candidates.front();
    const auto kind = best.is_confirmed ? PortAnswer::Kind::kUse : PortAnswer::Kind::kConfirm;
    return {.kind = kind, .port = best.port};
  }
  const auto left = static_cast<uint32_t>(PortsToScan(key, std::max(num_paths, 1u), range).size());
  return {.kind = left > 0 ? PortAnswer::Kind::kScan : PortAnswer::Kind::kExhausted, .num_ports = left};
}

// Place in the ring of ports. Args: pair: nothing where there is none yet.
uint64_t PortMap::ScanStart(const AddressPair& key, const Pair* pair) {
  if (pair == nullptr || !pair->last_port) return HashOf(key) % kNumSourcePorts;
  return RingDistance(0, uint64_t{*pair->last_port} - kFirstSourcePort + 1);
}

std::vector<uint16_t> PortMap::PortsToScan(const AddressPair& key, uint32_t count, PortRange range) const {
  const LeafEpoch leaf = leaves_.Find(key.domain());
  const Table* table = TableOf(key, leaf.fingerprint);
  const std::vector<uint16_t> taken = TakenPorts(key);
  const auto pair = pairs_.find(key);
  const uint64_t start = ScanStart(key, pair == pairs_.end() ? nullptr : &pair->second);
  std::vector<uint16_t> unknown;
  std::vector<uint16_t> revived;
  for (uint32_t i = 0; i < kNumSourcePorts && unknown.size() < count; ++i) {
    const uint16_t port = SteeringPort(start + i);
    if (!range.Contains(port) || Holds(taken, port)) continue;
    const Fact* fact = nullptr;
    if (table != nullptr) {
      const auto found = Seek(table->facts, port);
      if (found != table->facts.end() && found->port == port) fact = &*found;
    }
    if (fact == nullptr) {
      unknown.push_back(port);
    } else if (fact->epoch != leaf.epoch && revived.size() < count) {
      revived.push_back(port);
    }
  }
  revived.resize(std::min<size_t>(revived.size(), count - unknown.size()));
  unknown.insert(unknown.end(), revived.begin(), revived.end());
  return unknown;
}

Status PortMap::Reserve(const AddressPair& key, uint16_t port) {
  FL_RETURN_IF_ERROR(CheckPort(port));
  if (IsReserved(key, port)) {
    return Status(StatusCode::kAlreadyExists,
                  Describe(key, port) + ": a live connection holds it; reserve a port that Candidates() offers");
  }
  Pair* pair = Touch(key);
  by_use_.erase(pair->last_used);
  ++num_reserved_;
  pair->reserved.insert(std::lower_bound(pair->reserved.begin(), pair->reserved.end(), port), port);
  return OkStatus();
}

Status PortMap::Release(const AddressPair& key, uint16_t port) {
  const auto found = pairs_.find(key);
  if (found == pairs_.end() || !Holds(found->second.reserved, port)) {
    return NotFound(Describe(key, port) + ": it is not held; was it released twice?");
  }
  --num_reserved_;
  std::erase(found->second.reserved, port);
  Touch(key);
  return OkStatus();
}

void PortMap::Occupy(const AddressPair& key, uint16_t port) {
  Pair* pair = Touch(key);
  by_use_.erase(pair->last_used);
  pair->occupied.insert(std::lower_bound(pair->occupied.begin(), pair->occupied.end(), port), port);
}

void PortMap::Vacate(const AddressPair& key, uint16_t port) {
  const auto found = pairs_.find(key);
  FL_CHECK(found != pairs_.end() && Holds(found->second.occupied, port));
  std::vector<uint16_t>& occupied = found->second.occupied;
  occupied.erase(std::lower_bound(occupied.begin(), occupied.end(), port));
  Touch(key);
}

bool PortMap::IsReserved(const AddressPair& key, uint16_t port) const {
  const auto [begin, end] = SharingPorts(key);
  return std::any_of(begin, end, [&](const auto& other) { return Holds(other.second.reserved, port); });
}

bool PortMap::IsUnstable(const AddressPair& key) const {
  const auto found = pairs_.find(key);
  return found != pairs_.end() && found->second.unstable_in == EpochOf(key.source_leaf);
}

// Pairs of the same two addresses and protocol, whatever the plane and the destination port: a port that one has is no
// other's.
auto PortMap::SharingPorts(const AddressPair& key) const -> std::pair<Pairs::const_iterator, Pairs::const_iterator> {
  AddressPair first = key;
  first.destination_port = 0;
  first.source_leaf = NodeId(0u);
  first.destination_leaf = NodeId(0u);
  first.plane = 0;
  const auto begin = pairs_.lower_bound(first);
  const auto end = std::find_if(begin, pairs_.end(), [&](const auto& other) {
    return other.first.source_address != key.source_address ||
           other.first.destination_address != key.destination_address || other.first.protocol != key.protocol;
  });
  return {begin, end};
}

// Reserved or occupied; ascending.
std::vector<uint16_t> PortMap::TakenPorts(const AddressPair& key) const {
  std::vector<uint16_t> ports;
  const auto [begin, end] = SharingPorts(key);
  for (auto at = begin; at != end; ++at) {
    for (const auto* list : {&at->second.reserved, &at->second.occupied}) {
      ports.insert(ports.end(), list->begin(), list->end());
    }
  }
  std::sort(ports.begin(), ports.end());
  return ports;
}

// The pair, made when it is new, as the one used last; others may be evicted for it.
PortMap::Pair* PortMap::Touch(const AddressPair& key) {
  Pair& pair = pairs_[key];
  by_use_.erase(pair.last_used);
  pair.last_used = ++num_uses_;
  if (pair.reserved.empty() && pair.occupied.empty()) by_use_.emplace(pair.last_used, key);
  EvictOldPairs();
  return &pair;
}

void PortMap::EvictOldPairs() {
  while (pairs_.size() > options_.max_pairs && !by_use_.empty() && by_use_.begin()->first != num_uses_) {
    pairs_.erase(by_use_.begin()->second);
    by_use_.erase(by_use_.begin());
  }
}

const PortMap::Table* PortMap::TableOf(const AddressPair& key, uint64_t fingerprint) const {
  const auto found = pairs_.find(key);
  if (found == pairs_.end()) return nullptr;
  for (const Table& table : found->second.tables) {
    if (table.fingerprint == fingerprint) return &table;
  }
  return nullptr;
}

// The table of a fingerprint as the last one of the pair, made when it is new; the one recorded first gives way.
PortMap::Table* PortMap::MakeTable(Pair* pair, uint64_t fingerprint) const {
  std::vector<Table>& tables = pair->tables;
  const auto found =
      std::find_if(tables.begin(), tables.end(), [&](const Table& table) { return table.fingerprint == fingerprint; });
  if (found != tables.end()) {
    std::rotate(found, found + 1, tables.end());
    return &tables.back();
  }
  if (tables.size() >= options_.max_tables_per_pair) tables.erase(tables.begin());
  tables.emplace_back().fingerprint = fingerprint;
  return &tables.back();
}

}  // namespace fairlead::traffic::c4p
