// Which ranks of a job talk to each other over the network.
#pragma once

#include <compare>
#include <vector>

#include "execution/job_shape.h"
#include "model/telemetry.h"

namespace fairlead::execution {

// Pairs of ranks that messages of the job pass between over the network, ascending, each once.
struct NetworkPair {
  model::RankId source;
  model::RankId destination;

  friend auto operator<=>(const NetworkPair&, const NetworkPair&) = default;
};
std::vector<NetworkPair> NetworkPairs(const JobShape& shape, const model::JobLayout& layout);

}  // namespace fairlead::execution
