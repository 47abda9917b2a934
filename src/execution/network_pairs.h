// Which ranks of a job talk to each other over the network.
#pragma once

#include <compare>
#include <cstdint>
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
// Likewise, of messages on that plane only: channels have planes, and each its own ring or tree.
std::vector<NetworkPair> NetworkPairsOn(const JobShape& shape, const model::JobLayout& layout, uint32_t plane);

}  // namespace fairlead::execution
