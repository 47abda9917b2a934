// Who waits for whom, small enough to be looked at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/telemetry.h"

namespace fairlead::model {

// Ranks or operations; several where they wait alike.
struct WaitNode {
  std::vector<RankId> ranks;    // ascending; empty: operations only
  std::string label;            // of a single operation; empty: what it is says it all
  uint32_t num_operations = 0;  // 0: ranks only
  bool is_culprit = false;      // or has one
  bool is_rest = false;         // those that are farthest from the culprits

  friend bool operator==(const WaitNode&, const WaitNode&) = default;
};

struct WaitPicture {
  std::vector<WaitNode> nodes;
  std::vector<std::pair<uint32_t, uint32_t>> edges;  // from the waiting to the awaited one, by index

  friend bool operator==(const WaitPicture&, const WaitPicture&) = default;
};

// The same waits in at most `num_nodes_max` nodes: those of one kind that wait for the same and are waited for by the
// same are one; if there are still too many, those farthest from the culprits are one. A culprit is part of another
// node only then. Args: num_nodes_max >= 2. Cost: O((nodes + edges) log).
WaitPicture Fold(const WaitPicture& waits, size_t num_nodes_max);

// [node] distance from the nearest culprit, or where there is none from the nearest node that waits for nothing; nodes
// that don't lead there follow, first the one with the least index.
std::vector<size_t> LayersOf(const WaitPicture& waits);

}  // namespace fairlead::model
