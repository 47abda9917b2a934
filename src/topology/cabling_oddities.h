// What in a fabric's cabling is unlike the rest: the usual mistakes of hands. Whether it is one, a person decides.
//
// Switches are compared within blocks: leaves and the spines that they have cables to, with what these have cables to,
// and so on; then spines and cores alike. So pods, planes and groups of cores are each compared with themselves. Hosts
// are compared with the hosts that share most with them. A majority of more than half is the rule; where there is none,
// nothing is reported.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "topology/fabric.h"

namespace fairlead::topology {

// A pair of switches with another number of cables than most pairs of its block. In sparse blocks, where most pairs
// have none: a switch with another number of uplinks than most; `upper` is invalid then.
struct CableCountOddity {
  NodeId lower;
  NodeId upper;
  uint32_t found = 0;
  uint32_t expected = 0;
};
// A cable that is slower or faster than most of its tier and block; of hosts: than most of all hosts.
struct CableSpeedOddity {
  LinkId link;  // upwards
  BytesPerSecond expected;
};
// A host with another number of cables to leaves than most hosts.
struct HostCableOddity {
  HostId host;
  uint32_t found = 0;
  uint32_t expected = 0;
};
// A NIC on another leaf than the NIC of the same number of most hosts around: cables that are crossed, or in the wrong
// switch.
struct NicLeafOddity {
  NodeId nic;
  NodeId found;
  NodeId expected;
};

struct CablingOddities {
  std::vector<CableCountOddity> counts;
  std::vector<CableSpeedOddity> speeds;
  std::vector<HostCableOddity> hosts;
  std::vector<NicLeafOddity> nics;

  size_t size() const { return counts.size() + speeds.size() + hosts.size() + nics.size(); }
};

// Cost: O(n log n) of links.
CablingOddities FindCablingOddities(const Fabric& fabric);

}  // namespace fairlead::topology
