// The lines of slurm.conf and gres.conf that follow from a fabric: which hosts there are, and how many GPUs each has.
//
//     GresTypes=gpu
//     NodeName=h[0-7] Gres=gpu:4 State=UNKNOWN          one line for all hosts with as many GPUs
//     PartitionName=train Nodes=h[0-7] Default=YES MaxTime=INFINITE State=UP
//
// Limits      the fabric does not know processors and memory of hosts, nor addresses: `slurmd -C` prints the former,
//             and a line for NodeName=DEFAULT has them for all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "topology/fabric.h"

namespace fairlead::slurm {

// Whether Slurm can read all names of hosts. Args: origin: the fabric's file. Errors: kInvalidArgument: which one it
// can't, and what is expected.
Status CheckHostNames(const topology::Fabric& fabric, std::string_view origin);

// Of the fabric, in natural order.
std::vector<HostId> HostsInOrder(const topology::Fabric& fabric);

// Errors: those of CheckHostNames(). Cost: O(n log n).
Result<std::string> WriteNodeConf(const topology::Fabric& fabric, std::string_view origin);

}  // namespace fairlead::slurm
