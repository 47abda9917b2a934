// Small clusters and jobs for the tests of placement policies.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "scheduling/placement_policy.h"
#include "topology/clos_fabrics.h"

namespace fairlead::scheduling {

// Two pods of 4 leaves with 2 hosts of 8 GPUs each: 16 hosts, 128 GPUs.
inline topology::Fabric TwoPods() {
  topology::ClosSpec spec;
  spec.pods = 2;
  spec.leaves = 4;
  spec.hosts_per_leaf = 2;
  spec.spines = 2;
  spec.cores = 2;
  auto fabric = topology::BuildClos(spec);
  EXPECT_TRUE(fabric.ok()) << fabric.status().message();
  return std::move(fabric).value();
}

inline model::Job JobOf(uint32_t id, uint32_t gpus, uint32_t gpus_per_host = 8) {
  model::Job job;
  job.id = JobId(id);
  job.num_gpus = gpus;
  job.gpus_per_host = gpus_per_host;
  return job;
}

inline std::set<uint32_t> LeafGroups(const topology::Fabric& fabric, const model::Placement& placement) {
  std::set<uint32_t> groups;
  for (GpuId gpu : placement.gpus) groups.insert(fabric.leaf_group(fabric.host_of(gpu)));
  return groups;
}

inline std::set<uint32_t> Pods(const topology::Fabric& fabric, const model::Placement& placement) {
  std::set<uint32_t> pods;
  for (GpuId gpu : placement.gpus) pods.insert(fabric.pod(fabric.host_of(gpu)));
  return pods;
}

inline std::unique_ptr<PlacementPolicy> Create(std::string_view name, uint64_t seed = 1) {
  return CreatePlacementPolicy(name, seed).value();
}

}  // namespace fairlead::scheduling
