// What time it is in a contention domain.
#pragma once

#include <cstdint>
#include <limits>

#include "base/sim_time.h"

namespace fairlead::sim {

// Local time of what never happens.
constexpr int64_t kNeverNs = std::numeric_limits<int64_t>::max();

struct DomainTime {
  int64_t local_ns = 0;   // the clock of the domain's network, 0 where the domain begins
  int64_t offset_ns = 0;  // simulated time = local + offset; jumps move the offset alone

  SimTime now() const { return At(local_ns); }
  SimTime At(int64_t local) const { return SimTime(local + offset_ns); }
  int64_t Local(SimTime time) const { return time.ns() - offset_ns; }
};

}  // namespace fairlead::sim
