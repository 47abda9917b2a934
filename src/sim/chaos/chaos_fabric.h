// The fabric of a chaotic world: small, with several paths between hosts.
#pragma once

#include <cstdint>

#include "topology/fabric.h"

namespace fairlead::sim::chaos {

// Two leaves or more of up to three hosts, four spines; hosts have one GPU and one NIC. Of two ports each has leaves
// and spines of its own. Args: num_hosts in [2, 64]; num_nic_ports in [1, 2].
topology::Fabric MakeChaosFabric(uint32_t num_hosts, uint32_t num_nic_ports);

}  // namespace fairlead::sim::chaos
