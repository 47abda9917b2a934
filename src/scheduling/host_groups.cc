#include "scheduling/host_groups.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace fairlead::scheduling {
namespace {

// Takes hosts group by group: a group that can finish the job exactly or with least waste ends it, else the largest
// comes next.
std::vector<HostId> TakeFewGroups(std::vector<const HostGroup*> groups, size_t wanted) {
  std::vector<HostId> hosts;
  while (hosts.size() < wanted) {
    const size_t missing = wanted - hosts.size();
    // Smallest group that holds the rest; otherwise the largest group.
    const auto better = [missing](const HostGroup* a, const HostGroup* b) {
      const bool a_fits = a->hosts.size() >= missing;
      const bool b_fits = b->hosts.size() >= missing;
      if (a_fits != b_fits) return a_fits;
      if (a->hosts.size() != b->hosts.size()) {
        return a_fits ? a->hosts.size() < b->hosts.size() : a->hosts.size() > b->hosts.size();
      }
      return a->id < b->id;
    };
    const auto best = std::min_element(groups.begin(), groups.end(), better);
    const size_t count = std::min(missing, (*best)->hosts.size());
    hosts.insert(hosts.end(), (*best)->hosts.begin(), (*best)->hosts.begin() + static_cast<ptrdiff_t>(count));
    groups.erase(best);
  }
  return hosts;
}

// Among hosts that are equally full, one of the group with the fewest usable hosts.
HostId FullestHost(const GpuPool& pool, const std::vector<HostGroup>& groups) {
  const auto rank = [&](const HostGroup& group) {
    return std::tuple(pool.num_free(group.hosts.front()), group.hosts.size(), group.id);
  };
  return std::min_element(groups.begin(), groups.end(),
                          [&](const HostGroup& a, const HostGroup& b) { return rank(a) < rank(b); })
      ->hosts.front();
}

}  // namespace

std::vector<HostId> HostsOf(const topology::Fabric& fabric, const model::Placement& placement) {
  std::vector<HostId> hosts;
  for (const GpuId gpu : placement.gpus) hosts.push_back(fabric.host_of(gpu));
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  return hosts;
}

std::vector<HostGroup> FindUsableGroups(const GpuPool& pool, uint32_t ranks_per_host) {
  std::map<uint32_t, HostGroup> groups;
  const topology::Fabric& fabric = pool.fabric();
  for (size_t h = 0; h < fabric.num_hosts(); ++h) {
    const HostId host(h);
    if (pool.num_free(host) < ranks_per_host) continue;
    HostGroup& group = groups[fabric.leaf_group(host)];
    group.id = fabric.leaf_group(host);
    group.pod = fabric.pod(host);
    group.hosts.push_back(host);
  }
  std::vector<HostGroup> result;
  for (auto& [id, group] : groups) {
    std::stable_sort(group.hosts.begin(), group.hosts.end(),
                     [&](HostId a, HostId b) { return pool.num_free(a) < pool.num_free(b); });
    result.push_back(std::move(group));
  }
  return result;
}

std::optional<std::vector<HostId>> TakeNearHosts(const GpuPool& pool, const std::vector<HostGroup>& groups,
                                                 uint32_t num_hosts) {
  if (num_hosts == 1 && !groups.empty()) return std::vector<HostId>{FullestHost(pool, groups)};

  // Usable hosts per pod; the fullest pod that still holds the job wins.
  std::map<uint32_t, size_t> pod_hosts;
  size_t total = 0;
  for (const HostGroup& group : groups) {
    pod_hosts[group.pod] += group.hosts.size();
    total += group.hosts.size();
  }
  if (total < num_hosts) return std::nullopt;
  std::optional<std::pair<size_t, uint32_t>> best_pod;
  for (const auto& [pod, hosts] : pod_hosts) {
    if (hosts >= num_hosts && (!best_pod || hosts < best_pod->first)) best_pod = {hosts, pod};
  }
  std::vector<const HostGroup*> candidates;
  for (const HostGroup& group : groups) {
    // A single leaf group that holds the job beats every pod.
    if (group.hosts.size() >= num_hosts || !best_pod || group.pod == best_pod->second) candidates.push_back(&group);
  }
  return TakeFewGroups(candidates, num_hosts);
}

}  // namespace fairlead::scheduling
