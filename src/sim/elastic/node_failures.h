// Nodes that fail and come back.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"

namespace fairlead::sim {

// A node fails, or comes back.
struct NodeEvent {
  double time_s = 0;
  HostId node;
  bool is_up = false;
};

struct NodeFailureOptions {
  double mean_between_s = 0;  // time that a node runs until it fails, > 0; exponential
  double repair_s = 3600;     // until it is back, > 0
  double end_s = 3e6;         // none after that
  uint64_t seed = 1;
};

// Of the nodes 0 .. num_nodes - 1, ascending in time. Each node draws for itself: more nodes leave the others' as they
// are.
std::vector<NodeEvent> DrawNodeFailures(uint32_t num_nodes, const NodeFailureOptions& options);

}  // namespace fairlead::sim
