// Hosts with room for a job, by the leaf switches they hang from, and how to take few groups of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "scheduling/placement_policy.h"

namespace fairlead::scheduling {

// Hosts of the placement's GPUs, ascending, each once. Cost: O(GPUs log GPUs).
std::vector<HostId> HostsOf(const topology::Fabric& fabric, const model::Placement& placement);

// Hosts of one leaf group that could hold a full share of a job, the fullest first.
struct HostGroup {
  uint32_t id = 0;  // Fabric::leaf_group
  uint32_t pod = 0;
  std::vector<HostId> hosts;
};

// Groups with at least one host that has `ranks_per_host` free GPUs, by id. Cost: O(hosts log hosts).
std::vector<HostGroup> FindUsableGroups(const GpuPool& pool, uint32_t ranks_per_host);

// The nearest `num_hosts` hosts of these groups: in the smallest unit (host, leaf group, pod, everything) that holds
// them, the fullest of equal units; nothing when there are fewer hosts. Cost: O(hosts + groups^2).
std::optional<std::vector<HostId>> TakeNearHosts(const GpuPool& pool, const std::vector<HostGroup>& groups,
                                                 uint32_t num_hosts);

}  // namespace fairlead::scheduling
