// Importer of the text that `ibnetdiscover` prints: an InfiniBand subnet, node by node with the cable of each port.
//
//     Switch  40 "S-b8599f0300fc6de4"   # "MF0;leaf1:MQM8700/U1" enhanced port 0 lid 13 lmc 0
//     [1]     "H-ec0d9a03007d7d0a"[1](ec0d9a03007d7d0a)   # "node1 mlx5_0" lid 67 4xHDR
//     Ca      1 "H-ec0d9a03007d7d0a"    # "node1 mlx5_0"
//     [1](ec0d9a03007d7d0a)   "S-b8599f0300fc6de4"[1]     # lid 67 lmc 0 "MF0;leaf1:MQM8700/U1" lid 13 4xHDR
//
// A channel adapter is a NIC of the host that its description begins with ("node1"), and each of its ports a port of
// the NIC; where descriptions name no host, each adapter is one. Switches are named by their description where it
// names one switch, else by GUID. Either end of a cable is enough; aggregation nodes and routers are left out. The
// capacity of a link is its data rate: 4xHDR is 200 Gb/s, 4xQDR 32. Addresses are not in the file.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "topology/import/foreign_network.h"

namespace fairlead::topology {

// Args: where: the file, for messages. Errors: kInvalidArgument with file and line: a line that is none of
// ibnetdiscover's, a port with two cables. Cost: O(n log n).
Result<ForeignNetwork> ReadIbnetdiscover(std::string_view text, const std::string& where);

}  // namespace fairlead::topology
