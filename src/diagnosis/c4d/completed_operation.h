// One operation that all its ranks have finished, but for those that tell nothing.
#pragma once

#include <cstdint>
#include <span>

#include "base/sim_time.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

// On the clock of the rank's host.
struct RankInstants {
  model::RankId rank;
  SimTime enqueued;
  SimTime started;
  SimTime finished;
};

struct CompletedOperation {
  model::CommunicatorId communicator;
  model::OperationKind kind = model::OperationKind::kUnknown;
  uint64_t sequence = 0;
  uint64_t bytes = 0;
  std::span<const RankInstants> ranks;  // ascending in the communicator
};

}  // namespace fairlead::diagnosis::c4d
