#include "collective/rank_layout.h"

#include <unordered_map>

namespace fairlead::collective {

RankLayout MakeRankLayout(const model::Placement& placement, const topology::Fabric& fabric) {
  RankLayout layout;
  layout.ranks.reserve(placement.gpus.size());
  for (const GpuId gpu : placement.gpus) {
    const HostId host = fabric.host_of(gpu);
    layout.ranks.push_back({gpu, host, gpu.value() - fabric.first_gpu(host).value()});
  }
  return layout;
}

RankLayout MakeRegularLayout(uint32_t num_hosts, uint32_t gpus_per_host) {
  RankLayout layout;
  for (uint32_t host = 0; host < num_hosts; ++host) {
    for (uint32_t i = 0; i < gpus_per_host; ++i) {
      layout.ranks.push_back({GpuId(host * gpus_per_host + i), HostId(host), i});
    }
  }
  return layout;
}

std::vector<Communicator> GroupByHost(std::span<const RankPlace> ranks) {
  std::vector<Communicator> groups;
  std::unordered_map<HostId, size_t> group_of;  // looked up only, never walked
  for (const RankPlace& rank : ranks) {
    const auto [found, is_new] = group_of.try_emplace(rank.host, groups.size());
    if (is_new) groups.emplace_back();
    groups[found->second].push_back(rank);
  }
  return groups;
}

}  // namespace fairlead::collective
