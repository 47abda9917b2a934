#include "traffic/c4p/pending_scans.h"

#include <algorithm>

#include "base/random.h"

namespace fairlead::traffic::c4p {

size_t PendingScans::Hash::operator()(const AddressPair& pair) const {
  return CombineHash(uint64_t{pair.source_address} << 32 | pair.destination_address,
                     uint64_t{pair.plane} << 32 | uint64_t{pair.protocol} << 16 | pair.destination_port);
}

std::vector<uint16_t> PendingScans::Wait(const AddressPair& pair, QueuePairRef ref, uint64_t epoch,
                                         std::span<const uint16_t> ports, bool is_scan, SimTime now) {
  Entry& entry = pairs_[pair];
  if (entry.epoch != epoch) {
    entry.out.clear();
    entry.is_scan_out = false;
    entry.num_asked = 0;
    entry.epoch = epoch;
  }
  if (std::find(entry.waiting.begin(), entry.waiting.end(), ref) == entry.waiting.end()) entry.waiting.push_back(ref);
  std::vector<uint16_t> to_ask;
  if (is_scan && entry.is_scan_out) return to_ask;
  for (const uint16_t port : ports) {
    if (std::find(entry.out.begin(), entry.out.end(), port) == entry.out.end()) to_ask.push_back(port);
  }
  entry.is_scan_out = entry.is_scan_out || is_scan;
  if (to_ask.empty()) return to_ask;
  entry.out.insert(entry.out.end(), to_ask.begin(), to_ask.end());
  entry.num_asked += static_cast<uint32_t>(to_ask.size());
  entry.asked_at = now;
  asked_.emplace_back(now, pair);
  return to_ask;
}

bool PendingScans::HasTried(const AddressPair& pair, uint64_t epoch) const {
  const auto found = pairs_.find(pair);
  return found != pairs_.end() && found->second.epoch == epoch && found->second.num_asked >= max_ports_ &&
         found->second.out.empty();
}

void PendingScans::Answer(const AddressPair& pair, std::span<const uint16_t> ports) {
  const auto found = pairs_.find(pair);
  if (found == pairs_.end()) return;
  Entry& entry = found->second;
  for (const uint16_t port : ports) std::erase(entry.out, port);
  if (entry.out.empty()) entry.is_scan_out = false;
}

std::vector<QueuePairRef> PendingScans::TakeWaiting(const AddressPair& pair) {
  const auto found = pairs_.find(pair);
  if (found == pairs_.end()) return {};
  return std::exchange(found->second.waiting, {});
}

void PendingScans::Tidy(const AddressPair& pair) {
  const auto found = pairs_.find(pair);
  if (found != pairs_.end() && found->second.waiting.empty()) pairs_.erase(found);
}

std::vector<AddressPair> PendingScans::TakeOverdue(SimTime now) {
  std::vector<AddressPair> overdue;
  for (; !asked_.empty() && asked_.front().first + timeout_ <= now; asked_.pop_front()) {
    const auto& [at, pair] = asked_.front();
    const auto found = pairs_.find(pair);
    if (found == pairs_.end() || found->second.asked_at != at || found->second.out.empty()) continue;
    found->second.out.clear();
    found->second.is_scan_out = false;
    overdue.push_back(pair);
  }
  return overdue;
}

}  // namespace fairlead::traffic::c4p
