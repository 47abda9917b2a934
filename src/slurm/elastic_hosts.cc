#include "slurm/elastic_hosts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "scheduling/host_groups.h"
#include "scheduling/placement_policy.h"

namespace fairlead::slurm {

using scheduling::NodeShare;

namespace {

Status WhyNoSize(std::string what) {
  return {StatusCode::kFailedPrecondition, std::move(what) + ": sizes are not chosen"};
}

}  // namespace

std::vector<NodeShare> Sorted(std::vector<NodeShare> shares) {
  std::ranges::sort(shares, {}, &NodeShare::node);
  return shares;
}

Status ElasticHosts::LookAtPartitions(const ClusterState& state) {
  hosts_.clear();
  gpus_of_each_.reset();
  starts_jobs_ = false;
  std::set<uint32_t> numbers;
  for (const Partition& partition : state.partitions) {
    if (!AreAllNamed({partition.name})) continue;
    starts_jobs_ |= partition.is_up;
    for (const std::string& name : partition.hosts) {
      const HostId host = fabric_.FindHost(name);
      if (!host.valid()) continue;
      hosts_.insert(host);
      numbers.insert(fabric_.num_gpus_of(host));
    }
  }
  const std::string names = fmt::format("{}", fmt::join(partitions_, ","));
  if (hosts_.empty()) return WhyNoSize(fmt::format("no host of {} is in the fabric", names));
  if (numbers.size() > 1) {
    return WhyNoSize(fmt::format("hosts of {} differ in GPUs ({}); name partitions of equal hosts", names,
                                 fmt::join(numbers, ", ")));
  }
  if (*numbers.begin() == 0) return WhyNoSize(fmt::format("hosts of {} have no GPU in the fabric", names));
  gpus_of_each_ = *numbers.begin();
  return OkStatus();
}

std::vector<controller::HostStateChanged> ElasticHosts::LookAtHosts(
    const ClusterState& state, const std::function<bool(uint32_t job)>& is_elastic) {
  std::set<std::string> taken;  // by others
  for (const Reservation& reservation : state.reservations) {
    // Of one that is to begin later, Slurm knows which jobs end before.
    if (reservation.is_active) taken.insert(reservation.hosts.begin(), reservation.hosts.end());
  }
  for (const Job& job : state.jobs) {
    if (job.occupies_hosts() && !is_elastic(job.id)) taken.insert(job.hosts.begin(), job.hosts.end());
  }
  std::map<HostId, controller::HostState> states;
  open_.clear();
  has_unknown_ = false;
  for (const Node& node : state.nodes) {
    const HostId host = fabric_.FindHost(node.name);
    if (!host.valid() || !hosts_.contains(host) || !(node.is_up || node.is_unknown)) continue;
    has_unknown_ |= node.is_unknown;
    const bool has_room = node.is_up && !node.is_drained && !taken.contains(node.name);
    states[host] = has_room ? controller::HostState::kUp : controller::HostState::kDraining;
    if (has_room) open_.insert(host);
  }
  std::vector<controller::HostStateChanged> changes;
  for (size_t h = 0; h < fabric_.num_hosts(); ++h) {
    const auto found = states.find(HostId(h));
    changes.push_back({HostId(h), found == states.end() ? controller::HostState::kDown : found->second});
  }
  return changes;
}

bool ElasticHosts::AreAllNamed(const std::vector<std::string>& partitions) const {
  return std::ranges::all_of(partitions, [this](const std::string& partition) {
    return std::ranges::find(partitions_, partition) != partitions_.end();
  });
}

std::optional<std::vector<NodeShare>> ElasticHosts::SharesOf(const std::vector<std::string>& names) const {
  std::vector<NodeShare> shares;
  for (const std::string& name : names) {
    const HostId host = fabric_.FindHost(name);
    if (!host.valid() || !hosts_.contains(host)) return std::nullopt;
    shares.push_back({host, *gpus_of_each_, 0});
  }
  return Sorted(std::move(shares));
}

Result<std::vector<std::string>> ElasticHosts::NamesOf(const std::vector<NodeShare>& shares) const {
  std::vector<std::string> names;
  for (const NodeShare& share : shares) {
    if (share.num_gpus != *gpus_of_each_) {
      return Status(StatusCode::kFailedPrecondition, "is to get a part of a host: its size stays");
    }
    names.push_back(fabric_.HostName(share.node));
  }
  return names;
}

std::vector<JobId> ElasticHosts::PlaceNear(const std::set<HostId>& kept,
                                           std::vector<controller::AllocationChange>* changes) const {
  scheduling::GpuPool pool(fabric_);
  for (size_t h = 0; h < fabric_.num_hosts(); ++h) {
    const HostId host(h);
    if (open_.contains(host) && !kept.contains(host)) continue;
    model::Placement taken;
    scheduling::AppendFreeGpus(pool, host, fabric_.num_gpus_of(host), &taken);
    pool.Take(taken);
  }
  std::vector<controller::AllocationChange*> by_size;
  for (controller::AllocationChange& change : *changes) {
    if (!change.nodes.empty()) by_size.push_back(&change);
  }
  std::ranges::stable_sort(by_size, std::greater(), [](const auto* change) { return change->nodes.size(); });
  std::vector<JobId> placed;
  for (controller::AllocationChange* change : by_size) {
    const auto num_hosts = static_cast<uint32_t>(change->nodes.size());
    const auto hosts = scheduling::TakeNearHosts(pool, scheduling::FindUsableGroups(pool, *gpus_of_each_), num_hosts);
    if (!hosts.has_value()) break;  // of a policy that gives parts of hosts
    model::Placement taken;
    change->nodes.clear();
    for (const HostId host : *hosts) {
      change->nodes.push_back({host, *gpus_of_each_, 0});
      scheduling::AppendFreeGpus(pool, host, *gpus_of_each_, &taken);
    }
    pool.Take(taken);
    placed.push_back(change->job);
  }
  return placed;
}

}  // namespace fairlead::slurm
