// Connections: their requests, and the reservations of their queue pairs.
//
// Slots that are used again, found by name, by lease and by reservation. Queue pairs are rows that the components of
// the master share, as a step of one of them needs what the others know. Nothing here iterates over hash tables, so
// the same calls give the same order everywhere.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "traffic/c4p/path_allocator.h"
#include "traffic/path_messages.h"

namespace fairlead::traffic::c4p {

// One queue pair of the connection in a slot.
struct QueuePairRef {
  uint32_t connection = 0;
  uint32_t queue_pair = 0;

  friend constexpr auto operator<=>(QueuePairRef, QueuePairRef) = default;
};

// One row: what each component knows of a queue pair. Only the component that is named changes its columns.
struct QueuePairState {
  enum class Steering : uint8_t {
    kUnmanaged,  // no reservation
    kSearching,  // reserved; its port has yet to be found, or to be seen in this epoch
    kSteered,    // reserved, and `port` leads there
    kNoPort,     // reserved; no port leads there
  };
  // Of PathReservations; the port below may lead elsewhere.
  ReservationId reservation;
  // Of PortAssignment.
  Steering steering = Steering::kUnmanaged;  // kUnmanaged where there is no reservation, and only there
  bool is_told_to_wait = false;              // by its last answer
  bool is_open = false;                      // it has a socket, or a queue pair of RoCE is connected
  uint8_t port_plane = 0;
  uint16_t port = 0;       // in use and held; 0 = none
  uint32_t port_path = 0;  // which `port` was found for
  uint64_t epoch = 0;      // of the last step to find a port
  // Of PortOccupancy.
  uint16_t socket_port = 0;  // that can be steered by; 0: not reported, or another one
  uint16_t wire_port = 0;    // which its packets carry; likewise
  // Of PortVerification.
  uint8_t num_failed_searches = 0;  // since it was steered last
  bool is_to_verify = false;        // queued for a probe of `port`, or for another search
};

struct ConnectionState {
  LeaseId lease;
  ConnectionRequest request;
  std::vector<QueuePairState> queue_pairs;
  uint32_t position_in_lease = 0;
  bool is_held = false;
};

class ConnectionTable {
 public:
  // All queue pairs unmanaged. Args: a name that Find does not know.
  uint32_t Add(LeaseId lease, const ConnectionRequest& request);
  // Its queue pairs hold nothing any more.
  void Remove(uint32_t slot);

  std::optional<uint32_t> Find(JobId job, uint64_t connection) const;
  const ConnectionState& at(uint32_t slot) const { return slots_[slot]; }
  QueuePairState& at(QueuePairRef ref) { return slots_[ref.connection].queue_pairs[ref.queue_pair]; }
  const QueuePairState& at(QueuePairRef ref) const { return slots_[ref.connection].queue_pairs[ref.queue_pair]; }
  // Whether there is such a queue pair now; of a slot that was used again it may be another one.
  bool IsHeld(QueuePairRef ref) const {
    return slots_[ref.connection].is_held && ref.queue_pair < slots_[ref.connection].queue_pairs.size();
  }
  // Slots, some of them not held: 0 .. num_slots().
  uint32_t num_slots() const { return static_cast<uint32_t>(slots_.size()); }
  size_t size() const { return index_.size(); }
  // Slots of a lease; valid until the next change.
  std::span<const uint32_t> OfLease(LeaseId lease) const;

  // Another place, or none: the port that leads there has yet to be found.
  void SetReservation(QueuePairRef ref, ReservationId id);
  QueuePairRef OwnerOf(ReservationId id) const { return owners_[id.index()]; }
  // The queue pair as the allocator wants it.
  QueuePairRequest RequestOf(QueuePairRef ref) const;

 private:
  struct Name {
    JobId job;
    uint64_t connection = 0;

    friend bool operator==(const Name&, const Name&) = default;
  };
  struct NameHash {
    size_t operator()(const Name& name) const;
  };

  std::vector<ConnectionState> slots_;
  std::vector<uint32_t> free_slots_;
  std::unordered_map<Name, uint32_t, NameHash> index_;
  std::map<LeaseId, std::vector<uint32_t>> leases_;
  std::vector<QueuePairRef> owners_;  // [reservation]
};

}  // namespace fairlead::traffic::c4p
