#include "traffic/c4p/connection_table.h"

#include "base/check.h"
#include "base/random.h"

namespace fairlead::traffic::c4p {

size_t ConnectionTable::NameHash::operator()(const Name& name) const {
  return CombineHash(name.job.value(), name.connection);
}

uint32_t ConnectionTable::Add(LeaseId lease, const ConnectionRequest& request) {
  uint32_t slot = num_slots();
  if (free_slots_.empty()) {
    slots_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  const bool is_new = index_.emplace(Name{lease.job, request.connection}, slot).second;
  FL_CHECK(is_new);
  std::vector<uint32_t>& siblings = leases_[lease];
  ConnectionState& mine = slots_[slot];
  mine.lease = lease;
  mine.request = request;
  mine.queue_pairs.assign(request.num_queue_pairs, {});
  mine.position_in_lease = static_cast<uint32_t>(siblings.size());
  mine.is_held = true;
  siblings.push_back(slot);
  return slot;
}

void ConnectionTable::Remove(uint32_t slot) {
  ConnectionState& mine = slots_[slot];
  FL_CHECK(mine.is_held);
  const auto lease = leases_.find(mine.lease);
  std::vector<uint32_t>& siblings = lease->second;
  siblings[mine.position_in_lease] = siblings.back();
  slots_[siblings.back()].position_in_lease = mine.position_in_lease;
  siblings.pop_back();
  if (siblings.empty()) leases_.erase(lease);
  index_.erase({mine.lease.job, mine.request.connection});
  mine.queue_pairs.clear();
  mine.is_held = false;
  free_slots_.push_back(slot);
}

std::optional<uint32_t> ConnectionTable::Find(JobId job, uint64_t connection) const {
  const auto found = index_.find({job, connection});
  if (found == index_.end()) return std::nullopt;
  return found->second;
}

std::span<const uint32_t> ConnectionTable::OfLease(LeaseId lease) const {
  const auto found = leases_.find(lease);
  if (found == leases_.end()) return {};
  return found->second;
}

void ConnectionTable::SetReservation(QueuePairRef ref, ReservationId id) {
  QueuePairState& mine = at(ref);
  mine.reservation = id;
  mine.steering = id.valid() ? QueuePairState::Steering::kSearching : QueuePairState::Steering::kUnmanaged;
  if (!id.valid()) return;
  if (id.index() >= owners_.size()) owners_.resize(id.index() + 1);
  owners_[id.index()] = ref;
}

QueuePairRequest ConnectionTable::RequestOf(QueuePairRef ref) const {
  const ConnectionRequest& request = at(ref.connection).request;
  return {.connection = request.connection,
          .queue_pair = ref.queue_pair,
          .num_queue_pairs = request.num_queue_pairs,
          .source = request.source,
          .destination = request.destination,
          .weight = request.weight};
}

}  // namespace fairlead::traffic::c4p
