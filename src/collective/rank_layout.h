// Where the ranks of a job sit: all that collectives need to know of a fabric.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "model/job.h"
#include "topology/fabric.h"

namespace fairlead::collective {

// The seat of one rank.
struct RankPlace {
  GpuId gpu;
  HostId host;
  // Index of the GPU among the GPUs of its host. GPUs of equal index on different hosts reach each other on one rail.
  uint32_t local_index = 0;

  friend bool operator==(const RankPlace&, const RankPlace&) = default;
};

// A communicator: its ranks in the order of the communicator. No GPU twice.
using Communicator = std::vector<RankPlace>;

// All ranks of a job: ranks[rank].
struct RankLayout {
  Communicator ranks;
};

// Every GPU of the placement must be one of the fabric.
RankLayout MakeRankLayout(const model::Placement& placement, const topology::Fabric& fabric);

// `num_hosts` whole hosts of `gpus_per_host` GPUs, numbered from 0: for tests, tables and closed forms.
RankLayout MakeRegularLayout(uint32_t num_hosts, uint32_t gpus_per_host);

// The ranks of each host, hosts by first appearance, ranks in the given order. A ring that walks the groups one after
// the other enters and leaves each host once. Cost: O(ranks).
std::vector<Communicator> GroupByHost(std::span<const RankPlace> ranks);

}  // namespace fairlead::collective
