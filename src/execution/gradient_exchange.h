// What the replicas of a job exchange at the end of an iteration, by its data-parallel algorithm.
#pragma once

#include <cstdint>
#include <vector>

#include "execution/job_shape.h"
#include "execution/transfer_simulator.h"
#include "model/telemetry.h"

namespace fairlead::execution {

// One collective operation of a data-parallel group.
struct GradientExchange {
  model::OperationKind kind;
  uint64_t bytes = 0;
};

// In their order; empty: there is one replica.
std::vector<GradientExchange> GradientExchangesOf(const JobShape& shape);
// Its messages on each connection, without starts.
Transfer TransferOf(const JobShape& shape, const GradientExchange& exchange);

}  // namespace fairlead::execution
