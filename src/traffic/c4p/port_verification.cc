#include "traffic/c4p/port_verification.h"

#include <utility>

namespace fairlead::traffic::c4p {

void PortVerification::Queue(QueuePairRef ref, bool has_port, SimTime now) {
  QueuePairState& mine = connections_->at(ref);
  if (has_port) {
    mine.num_failed_searches = 0;
  } else if (mine.num_failed_searches < kLongestPause) {
    ++mine.num_failed_searches;
  }
  if (std::exchange(mine.is_to_verify, true)) return;
  queue_.emplace(now + period_ * (int64_t{1} << mine.num_failed_searches), ref);
}

std::optional<QueuePairRef> PortVerification::TakeDue(SimTime now) {
  while (!queue_.empty() && queue_.begin()->first <= now) {
    const QueuePairRef ref = queue_.begin()->second;
    queue_.erase(queue_.begin());
    if (!connections_->IsHeld(ref)) continue;
    connections_->at(ref).is_to_verify = false;
    return ref;
  }
  return std::nullopt;
}

std::set<QueuePairRef> PortVerification::TakeProbed(const AddressPair& pair) {
  auto node = probed_.extract(pair);
  if (node.empty()) return {};
  return std::move(node.mapped());
}

}  // namespace fairlead::traffic::c4p
