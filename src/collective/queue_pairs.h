// Connections with several queue pairs.
#pragma once

#include <cstdint>

#include "model/flow.h"
#include "topology/fabric.h"

namespace fairlead::collective {

// Splits every flow between hosts into `num_queue_pairs` flows of equal bytes, each in its own group: they may take
// different paths, and the message is over when the last of them is. Flows inside a host stay what they are. The edges
// of a ring lose their lockstep; its phase still ends with its slowest edge. Args: an iteration whose flows are not
// split yet; num_queue_pairs in [1, kMaxQueuePairs]. Cost: O(flows).
void SplitIntoQueuePairs(uint32_t num_queue_pairs, const topology::Fabric& fabric, model::Iteration* iteration);

inline constexpr uint32_t kMaxQueuePairs = 128;

}  // namespace fairlead::collective
