// How much each layer of a fabric can carry upwards, and how much hangs below it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "topology/fabric.h"

namespace fairlead::topology {

// Cables of one speed between two layers.
struct CableSpeed {
  BytesPerSecond speed;
  uint64_t num_cables = 0;
};

// Hosts, or the switches of one kind.
struct LayerSummary {
  NodeKind kind = NodeKind::kNic;  // kNic means hosts
  uint64_t num_devices = 0;
  std::vector<CableSpeed> uplinks;  // to the next layer, the commonest first
  BytesPerSecond capacity;          // of all of them, per direction
  // What hangs below a switch divided by its uplinks: the least and greatest of the layer, over switches that have both.
  // 0: there are none, as in the uppermost layer.
  double least_oversubscription = 0;
  double greatest_oversubscription = 0;
  NodeId most_oversubscribed;
};

// Hosts, leaves, spines, cores; layers without devices are left out. Cost: O(links log links).
std::vector<LayerSummary> SummarizeLayers(const Fabric& fabric);

}  // namespace fairlead::topology
