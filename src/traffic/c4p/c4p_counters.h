// What has happened in a C4P master since its start.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "traffic/path_messages.h"

namespace fairlead::traffic::c4p {

struct C4pCounters {
  uint64_t requests = 0;               // of connections
  uint64_t duplicate_requests = 0;     // of them: answered again
  uint64_t refused_requests = 0;       // of them: bad input
  uint64_t queue_pairs_placed = 0;     // at their request
  uint64_t queue_pairs_unmanaged = 0;  // at their request
  uint64_t queue_pairs_adopted = 0;    // by announcement
  uint64_t connections_released = 0;
  uint64_t unknown_releases = 0;  // of connections or leases that are not held
  uint64_t leases_expired = 0;
  uint64_t unknown_renewals = 0;  // heartbeats for unknown leases
  uint64_t ports_asked = 0;
  uint64_t scans_overdue = 0;
  uint64_t bad_scans = 0;  // that were answered with what names a NIC, plane or port that there is not
  uint64_t rejected_events = 0;
  std::array<uint64_t, kNumMoveCauses> moves = {};  // answers that changed, [cause]

  uint64_t of(MoveCause cause) const { return moves[static_cast<size_t>(cause)]; }
  friend bool operator==(const C4pCounters&, const C4pCounters&) = default;
};

}  // namespace fairlead::traffic::c4p
