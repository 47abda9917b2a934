// Which routes the hosts and switches of a lab have, given what cables are cut: what a routing protocol converges to.
//
// Method  one breadth-first search from every NIC over the switches gives each its distance in cables; a switch sends
//         on over all cables to neighbours that are one closer, in order of cable, which the kernel hashes over (ECMP).
//         Hosts do not route: they send everything over all ports of the sending NIC that are up, as a bond does.
// Cost    O(NICs * cables).
// Guarantees  the same health gives the same routes in the same order, so that a repaired cable brings the old paths
//         back. From the first leaf on the paths are those of topology::Router.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/lab_plan.h"

namespace fairlead::lab {

// What one switch does with packets to one NIC; without cables it drops them.
struct SwitchRoute {
  NicId destination;
  std::vector<CableId> next;  // by id

  friend bool operator==(const SwitchRoute&, const SwitchRoute&) = default;
};

// What a host does with packets that one of its NICs sends.
struct HostRoute {
  NicId source;
  std::vector<CableId> next;  // ports that are up, in order

  friend bool operator==(const HostRoute&, const HostRoute&) = default;
};

struct NodeRoutes {
  std::vector<SwitchRoute> of_switch;  // by destination; empty for hosts
  std::vector<HostRoute> of_host;      // by source; empty for switches

  friend bool operator==(const NodeRoutes&, const NodeRoutes&) = default;
};

using LabRoutes = IdVector<LabNodeId, NodeRoutes>;

// Args: health [cable]; only whether it is 0 matters.
LabRoutes ComputeRoutes(const LabPlan& plan, const CableHealth& health);

// The lines for `ip -batch` that turn the routes `before` of a node into `after`; empty when nothing differs. An empty
// `before` means a fresh namespace.
std::string RouteCommands(const LabPlan& plan, LabNodeId node, const NodeRoutes& before, const NodeRoutes& after);

}  // namespace fairlead::lab
