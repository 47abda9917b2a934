// The clock of a host: it is off by some time, and runs a little fast or slow.
#pragma once

#include <cmath>

#include "base/random.h"
#include "base/sim_time.h"
#include "execution/noise.h"

namespace fairlead::execution {

struct HostClock {
  SimDuration offset;
  double drift = 0;  // seconds gained per second

  static HostClock Draw(const NoiseOptions& noise, Random& random) {
    const auto bound = static_cast<double>(noise.clock_offset_max.ns());
    const auto offset = static_cast<int64_t>(random.Uniform(-bound, bound));
    return {SimDuration(offset), random.Uniform(-noise.clock_drift_ppm_max, noise.clock_drift_ppm_max) * 1e-6};
  }

  // What the clock shows at the true time `t`.
  SimTime Show(SimTime t) const { return t + offset + SimDuration(std::llround(static_cast<double>(t.ns()) * drift)); }
};

}  // namespace fairlead::execution
