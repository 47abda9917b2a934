// Which hosts are near each other, which networks meet only in NICs, and whether all hosts can reach each other at all.
//
// Both answers are read off the finished graph, so they hold for generated, imported and hand-written fabrics alike.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "topology/fabric.h"

namespace fairlead::topology {

// A partition of the hosts: dense group numbers from 0, in order of their first host.
struct HostGroups {
  IdVector<HostId, uint32_t> group_of;
  uint32_t num_groups = 0;
};

// Hosts with ports on the same set of leaves.
HostGroups FindLeafGroups(const Fabric& fabric);
// Hosts that reach each other over leaves and spines, without a core.
HostGroups FindPods(const Fabric& fabric);

// Planes: networks of switches that meet only in NICs, so that what breaks in one leaves the others whole.
struct SwitchPlanes {
  static constexpr uint32_t kNone = ~0u;
  IdVector<NodeId, uint32_t> plane_of;  // kNone for nodes inside hosts; numbered densely by their first switch
  uint32_t num_planes = 0;
};
SwitchPlanes FindPlanes(const Fabric& fabric);

// Errors: kInvalidArgument when two NICs, of one rail where rails are not joined, have no chain of switches between
// them, naming one such pair. NICs and GPUs
// carry no transit traffic: two planes that only meet in bonded NICs are two networks, but each joins the NICs.
Status CheckConnected(const Fabric& fabric);

}  // namespace fairlead::topology
