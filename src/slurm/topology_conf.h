// Slurm's topology.conf: which hosts are near one another, as the fabric has it; and a fabric out of such a file.
//
//     SwitchName=leaf0 Nodes=h[0-1]            one line for each set of hosts that are cabled to the same leaves
//     SwitchName=leaf1 Nodes=h[2-3]
//     SwitchName=pod0 Switches=leaf[0-1]       one for each pod: hosts that reach one another without a core switch
//     SwitchName=cores Switches=pod[0-3]       one, where there are several pods
//
// Problem     Slurm's topology/tree knows one leaf of each host and one switch above each switch. Hosts of today have a
//             NIC at each of several leaves (rails, planes, pairs of leaves), and leaves have many spines above them.
// Method      a line is no box, but a distance. Spines of a pod are one line, since any of them is as far as the other.
//             Hosts at the same leaves are one line, since they meet on the first switch in every rail and plane; rails
//             and planes are copies of one another, so the tree of one of them is the tree of all. In rail-only fabrics
//             the same holds: what crosses rails does so inside of hosts. A line is named like the switch where it
//             stands for one, else "group0", "pod0", "cores".
// Guarantees  every host is in one line; all lines of hosts are equally deep; written, read and written again it is the
//             same text, but for comments.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "topology/fabric.h"
#include "topology/import/foreign_network.h"

namespace fairlead::slurm {

// Args: origin: the fabric's file, for the first line. Hosts, and lines with their first host, are in natural order.
// Errors: kInvalidArgument: a host with a name that Slurm can't read: which one, what is expected. Cost: O(n log n).
Result<std::string> WriteTopologyConf(const topology::Fabric& fabric, std::string_view origin);

// Devices and cables for BuildImportedFabric(). The file has no cables: a host gets one of `host_gbps` to each line
// that names it (0: not known), a line one to the line above that carries all that comes from below.
// Args: where: the file, for messages. Errors: kInvalidArgument with file and line: what is no line of a topology.conf,
// a switch that is there twice or not at all, that is below itself, or with over two layers below it; over 1,000,000
// names.
Result<topology::ForeignNetwork> ReadTopologyConf(std::string_view text, const std::string& where, double host_gbps);

}  // namespace fairlead::slurm
