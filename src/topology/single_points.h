// Whose loss cuts hosts off: the switches and cables between hosts of which there is only one.
//
// Problem     remove a switch, or a cable; of the parts that the switches fall into, take the one that most hosts
//             have a cable to. By how many hosts it has less than before, that many are cut off. Hosts carry no
//             transit: a host on two parts joins none, and planes are parts from the beginning.
// Method      one depth-first search over the switches (Tarjan: a child subtree that no back edge leaves above v is a
//             separate part once v is gone). Hosts of a subtree are counted once each by +1 at each of their leaves and
//             -1 at the common ancestor of every two that follow one another; hosts that are confined to a subtree by
//             the common ancestor of all their leaves.
// Cost        O((V + E) log V), V switches, E cables; the logarithm is that of finding common ancestors.
// Oracle      single_points_test removes each switch and cable and searches again.
// Reference   Tarjan, Depth-First Search and Linear Graph Algorithms, SIAM J. Comput. 1972.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "topology/fabric.h"

namespace fairlead::topology {

struct SinglePoint {
  NodeId node;                 // the switch; invalid where it is a cable
  LinkId link;                 // the cable, upwards; invalid where it is a switch
  uint32_t num_cut_hosts = 0;  // >= 1
};

// Those of most hosts first, switches before cables, then by id.
std::vector<SinglePoint> FindSinglePoints(const Fabric& fabric);

}  // namespace fairlead::topology
