// By how much is each connection of a window slower than normal, and than its like?
//
// Notation    x, sharing: slow_transfer_detector.h
//             class  connections that are alike: similar number and size of messages, same sharing, same pair of leaf
//                    switches (if there are enough of them) or equally local
// Method      1. x against what is normal for the connection; without that, against the median of its class;
//             2. unless some are as ever, x relative to the present normal;
//             3. single messages that are slow count only as far as that shows in the time of all;
//             4. of a slower one only what its receiver does not account for is sure. Where that is less than the least
//                effect, nothing is known of it: it may be as ever, or slow behind a receiver that is busy;
//             5. if some are slower by the least effect: by how much beyond the slowest of the class that are not, or,
//                without a normal of its own, beyond all others of the class.
// Cost        O(connections).
// Guarantees  a pure function; a slowdown of all by one factor changes nothing.
#pragma once

#include <span>
#include <vector>

#include "diagnosis/c4d/measured_connections.h"
#include "diagnosis/c4d/slow_options.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

struct ConnectionDelay {
  bool is_known = false;  // whether x means anything
  double x = 0;
  double uneven_share = 0;  // of reports whose slowest messages cost time
  // Log of its time per message over the slowest of its class that it is compared with; infinite where there are none.
  double beyond_like = 0;
};

struct ConnectionDelays {
  std::vector<ConnectionDelay> of;  // [sample]
  double sigma = 0;                 // standard deviation of x where nothing is slow
};

ConnectionDelays CompareConnections(std::span<const ConnectionSample> samples, const model::JobLayout& layout,
                                    const SlowOptions& options);

// Log of times normal, up to which something is as ever, and speaks against a fault of what it passes.
double AsEverMax(const SlowOptions& options);

}  // namespace fairlead::diagnosis::c4d
