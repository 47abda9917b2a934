// Clos fabrics of two and three layers, with hosts on one leaf or on a pair of leaves.
//
//   two layers      every leaf to every spine
//   three layers    pods of two layers, joined by cores
//   double-sided    the same, but leaves come in pairs, and a host has half of its ports on each leaf of its pair
//                   (Crux, SIGCOMM 2024, section 6.3: 6 leaves, 12 spines, 32 cores)
//
// NodeIds and HostIds ascend by pod, then leaf, then place, so hosts with near ids are near each other.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "topology/fabric.h"
#include "topology/host_spec.h"
#include "topology/uplink_wiring.h"

namespace fairlead::topology {

struct ClosSpec {
  uint32_t pods = 1;            // >= 1; more than one needs cores
  uint32_t leaves = 2;          // per pod, >= 1; even when double-sided
  uint32_t hosts_per_leaf = 2;  // >= 1; when double-sided, a pair of leaves has twice as many hosts on it
  uint32_t spines = 2;          // per pod, >= 1
  uint32_t cores = 0;           // in all; 0 = two layers
  bool double_sided = false;
  CoreWiring core_wiring = CoreWiring::kGrouped;
  UplinkSpec leaf_uplink = {};  // leaf to spine
  UplinkSpec core_uplink = {};  // spine to core
  HostSpec host = {};
};

// Errors: kInvalidArgument for a spec out of the ranges above; kResourceExhausted for more than `max_links` links.
// Cost: O(nodes + links).
Result<Fabric> BuildClos(const ClosSpec& spec, uint64_t max_links = FabricBuilder::kMaxLinks);

}  // namespace fairlead::topology
