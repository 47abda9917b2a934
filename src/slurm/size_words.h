// Why a job has the nodes that it has, in words: how many and which, near what, what it lost to whom, and what others
// have changed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "slurm/cluster_state.h"
#include "slurm/operations.h"
#include "topology/fabric.h"

namespace fairlead::slurm {

// "which meet at the same leaves", "which reach one another without a core switch", "in several pods"; empty: one host,
// or one that the fabric has not.
std::string NearnessOf(const std::vector<std::string>& hosts, const topology::Fabric& fabric);

// "2 nodes, h[0-1], which meet at the same leaves; slurm-9 gets h[2-3] of it: shrunk: place 2 of 3".
// Args: operation: a PlaceJob or HoldJob; reason: of the policy; all: what was decided together with it; state: what
// Slurm showed then.
std::string DescribeDecision(const Operation& operation, std::string_view reason, std::span<const Operation> all,
                             const ClusterState& state, const topology::Fabric& fabric);

// Of each job that has other hosts than before in the same run, as after its user's `scontrol update NumNodes=`: we
// change none while it runs.
std::vector<std::pair<uint32_t, std::string>> WordsOfLiveChanges(const ClusterState& before, const ClusterState& now);

}  // namespace fairlead::slurm
