// Small jobs for tests of the detectors.
#pragma once

#include <cstdint>

#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

struct ExampleShape {
  uint32_t hosts = 4;
  uint32_t gpus = 8;  // of a host; each with a rank and a NIC
  uint32_t hosts_per_leaf = 2;
  uint32_t planes = 1;
};

// Rank = GPU + gpus * host. NICs are numbered as ranks, leaves by plane, then by group of hosts. Communicators: first
// one for each host, then one for each GPU index over all hosts.
inline model::JobLayout MakeExampleLayout(const ExampleShape& shape) {
  model::JobLayout layout;
  layout.job = JobId(0);
  const uint32_t leaves = (shape.hosts + shape.hosts_per_leaf - 1) / shape.hosts_per_leaf;
  layout.communicators.resize(shape.hosts + shape.gpus);
  for (uint32_t rank = 0; rank < shape.hosts * shape.gpus; ++rank) {
    const uint32_t host = rank / shape.gpus;
    const uint32_t gpu = rank % shape.gpus;
    model::RankPlace place{.host = HostId(host), .gpu = gpu, .nic = NicId(rank), .leaves = {}};
    for (uint32_t plane = 0; plane < shape.planes; ++plane) {
      place.leaves.emplace_back(plane * leaves + host / shape.hosts_per_leaf);
    }
    layout.ranks.push_back(place);
    layout.communicators[host].ranks.emplace_back(rank);
    layout.communicators[shape.hosts + gpu].ranks.emplace_back(rank);
  }
  return layout;
}

}  // namespace fairlead::diagnosis::c4d
