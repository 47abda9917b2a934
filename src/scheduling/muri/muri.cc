#include "scheduling/muri/muri.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "scheduling/host_groups.h"

namespace fairlead::scheduling::muri {

namespace {

// [leaf group]: sum of the network shares of the jobs that cross it.
std::vector<double> NetworkLoad(const ClusterView& cluster) {
  const topology::Fabric& fabric = cluster.pool->fabric();
  std::vector<double> load(fabric.num_leaf_groups(), 0);
  for (const PlacedJob& running : cluster.running) {
    const std::vector<HostId> hosts = HostsOf(fabric, *running.placement);
    if (hosts.size() < 2) continue;
    std::set<uint32_t> groups;
    for (const HostId host : hosts) groups.insert(fabric.leaf_group(host));
    for (const uint32_t group : groups) load[group] += running.job->network_share;
  }
  return load;
}

struct PricedGroup {
  HostGroup group;
  double cost = 0;
};

std::vector<PricedGroup> PriceGroups(std::vector<HostGroup> groups, const std::vector<double>& load, double share) {
  std::vector<PricedGroup> priced;
  for (HostGroup& group : groups) {
    const double cost = std::max(0.0, load[group.id] + share - 1);
    priced.push_back({std::move(group), cost});
  }
  return priced;
}

// Groups that hold `missing` hosts for little. Cheap ones are kept as long as they don't finish the job; each that
// would is tried as the last one.
std::vector<const PricedGroup*> TakeCheap(std::vector<const PricedGroup*> groups, size_t missing) {
  std::sort(groups.begin(), groups.end(), [](const PricedGroup* a, const PricedGroup* b) {
    // c_a / k_a < c_b / k_b
    const double left = a->cost * static_cast<double>(b->group.hosts.size());
    const double right = b->cost * static_cast<double>(a->group.hosts.size());
    return std::tie(left, a->group.id) < std::tie(right, b->group.id);
  });
  std::vector<const PricedGroup*> kept;
  std::vector<const PricedGroup*> best;
  double kept_cost = 0;
  double best_cost = std::numeric_limits<double>::infinity();
  for (const PricedGroup* group : groups) {
    if (group->group.hosts.size() < missing) {
      kept.push_back(group);
      kept_cost += group->cost;
      missing -= group->group.hosts.size();
    } else if (kept_cost + group->cost < best_cost) {
      best = kept;
      best.push_back(group);
      best_cost = kept_cost + group->cost;
    }
  }
  return best;
}

// The groups that the job may be placed in. Args: at least `num_hosts` hosts in all groups.
std::vector<HostGroup> ChooseGroups(const std::vector<PricedGroup>& priced, size_t num_hosts) {
  std::vector<HostGroup> chosen;
  std::vector<const PricedGroup*> others;
  size_t num_chosen = 0;
  for (const PricedGroup& group : priced) {
    if (group.cost > 0) {
      others.push_back(&group);
      continue;
    }
    chosen.push_back(group.group);
    num_chosen += group.group.hosts.size();
  }
  if (num_chosen >= num_hosts) return chosen;
  for (const PricedGroup* group : TakeCheap(std::move(others), num_hosts - num_chosen)) chosen.push_back(group->group);
  return chosen;
}

class Muri final : public PlacementPolicy {
 public:
  std::string_view name() const override { return "muri"; }

  std::optional<model::Placement> Place(const GpuPool& pool, const model::Job& job) const override {
    return PlaceBeside({.pool = &pool, .running = {}}, job);
  }

  std::optional<model::Placement> PlaceBeside(const ClusterView& cluster, const model::Job& job) const override {
    const GpuPool& pool = *cluster.pool;
    if (pool.num_free() < job.num_gpus) return std::nullopt;
    const uint32_t num_hosts = NumHosts(job);
    std::vector<HostGroup> groups = FindUsableGroups(pool, RanksOnHost(job, 0));
    size_t num_usable = 0;
    for (const HostGroup& group : groups) num_usable += group.hosts.size();
    if (num_usable < num_hosts) return std::nullopt;
    if (num_hosts > 1) {
      groups = ChooseGroups(PriceGroups(std::move(groups), NetworkLoad(cluster), job.network_share), num_hosts);
    }
    return PlaceOnHosts(pool, job, *TakeNearHosts(pool, groups, num_hosts));
  }
};

}  // namespace

std::unique_ptr<PlacementPolicy> CreateMuri() { return std::make_unique<Muri>(); }

}  // namespace fairlead::scheduling::muri
