// Rail-optimized fabric with planes: NIC r of every host in a segment meets on the same leaf, once per plane.
//
//   host h of segment s, NIC r, port p  ->  leaf (s, rail r / rails_per_leaf, plane p)
//   leaf of (rail group g, plane p)     ->  every spine of its pod in (g, p)
//   spine                               ->  cores of its plane
//
// A bonded NIC has one port per plane (C4, HPCA 2025, section 4: left and right port). Planes are separate networks
// that meet only in the NICs, so a flow that leaves left arrives left. With `shared_planes` spines serve all planes:
// left-right crossings exist, and it is up to the traffic policy to avoid them, as C4P's plane rule does.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "topology/fabric.h"
#include "topology/host_spec.h"
#include "topology/uplink_wiring.h"

namespace fairlead::topology {

// Eight GPUs, eight NICs of two bonded 200 Gb/s ports, a PCIe 5.0 x16 switch per GPU and NIC: the hosts of C4,
// section 6.
HostSpec RailHostSpec();

struct RailSpec {
  uint32_t pods = 1;                // >= 1; more than one needs cores
  uint32_t segments = 1;            // per pod, >= 1
  uint32_t hosts_per_segment = 16;  // >= 1
  uint32_t rails_per_leaf = 1;      // divides host.nics; 2 halves the number of leaves and doubles their ports
  uint32_t rail_groups = 1;         // divides host.nics / rails_per_leaf; more than one needs cores
  uint32_t spines = 8;              // per pod, rail group and plane (or shared by the planes); >= 1, but see rail_only
  uint32_t cores = 0;               // per plane, or in all with shared_planes; 0 = two layers
  bool shared_planes = false;
  // Nothing joins the rails: each has spines of its own, or none (0) where one leaf has all hosts. Not with cores.
  bool rail_only = false;
  CoreWiring core_wiring = CoreWiring::kGrouped;
  UplinkSpec leaf_uplink = {};
  UplinkSpec core_uplink = {};
  HostSpec host = RailHostSpec();  // NICs are rails, ports are planes
};

// Errors: kInvalidArgument for a spec out of the ranges above, and for rail groups that cores do not join;
// kResourceExhausted for more than `max_links` links. Cost: O(nodes + links); see BM_BuildRail/gpus:100000.
Result<Fabric> BuildRail(const RailSpec& spec, uint64_t max_links = FabricBuilder::kMaxLinks);

}  // namespace fairlead::topology
