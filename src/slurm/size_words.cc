#include "slurm/size_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "slurm/host_list.h"

namespace fairlead::slurm {
namespace {

bool IsIn(const std::vector<std::string>& hosts, const std::string& host) {
  return std::ranges::find(hosts, host) != hosts.end();
}

const std::vector<std::string>& HostsOfDecision(const Operation& operation) {
  static const std::vector<std::string> kNone;
  const auto* place = std::get_if<PlaceJob>(&operation);
  return place == nullptr ? kNone : place->hosts;
}

// Of hosts that the job has and is to have no more: who gets them with the same decision.
std::string Losses(uint32_t id, const Operation& operation, std::span<const Operation> all, const ClusterState& state) {
  const Job* job = FindJob(state.jobs, id);
  if (job == nullptr || !job->occupies_hosts()) return "";
  std::string words;
  for (const Operation& other : all) {
    if (JobOf(other) == id) continue;
    std::vector<std::string> taken;
    for (const std::string& host : job->hosts) {
      if (!IsIn(HostsOfDecision(operation), host) && IsIn(HostsOfDecision(other), host)) taken.push_back(host);
    }
    if (!taken.empty()) words += fmt::format("; slurm-{} gets {} of it", *JobOf(other), CompressHosts(taken));
  }
  return words;
}

}  // namespace

std::vector<std::pair<uint32_t, std::string>> WordsOfLiveChanges(const ClusterState& before, const ClusterState& now) {
  std::map<uint32_t, const Job*> running;
  for (const Job& job : before.jobs) {
    if (job.has_hosts()) running[job.id] = &job;
  }
  std::vector<std::pair<uint32_t, std::string>> words;
  for (const Job& job : now.jobs) {
    const auto found = job.has_hosts() ? running.find(job.id) : running.end();
    if (found == running.end()) continue;
    const Job& was = *found->second;
    const bool is_same_run = was.owner == job.owner && was.num_restarts == job.num_restarts;
    if (!is_same_run || std::set(was.hosts.begin(), was.hosts.end()) == std::set(job.hosts.begin(), job.hosts.end())) {
      continue;
    }
    words.emplace_back(job.id, fmt::format("was changed while it ran, by somebody else: from {} {}, {}, to {}, {}",
                                           was.hosts.size(), was.hosts.size() == 1 ? "node" : "nodes",
                                           CompressHosts(was.hosts), job.hosts.size(), CompressHosts(job.hosts)));
  }
  return words;
}

std::string NearnessOf(const std::vector<std::string>& hosts, const topology::Fabric& fabric) {
  std::set<uint32_t> leaves;
  std::set<uint32_t> pods;
  for (const std::string& name : hosts) {
    const HostId host = fabric.FindHost(name);
    if (!host.valid()) return "";
    leaves.insert(fabric.leaf_group(host));
    pods.insert(fabric.pod(host));
  }
  if (hosts.size() < 2) return "";
  if (leaves.size() == 1) return "which meet at the same leaves";
  return pods.size() == 1 ? "which reach one another without a core switch" : "in several pods";
}

std::string DescribeDecision(const Operation& operation, std::string_view reason, std::span<const Operation> all,
                             const ClusterState& state, const topology::Fabric& fabric) {
  const uint32_t id = JobOf(operation).value_or(0);
  std::string words = "waits without nodes";
  if (const auto* place = std::get_if<PlaceJob>(&operation)) {
    words = fmt::format("{} {}", place->num_nodes, place->num_nodes == 1 ? "node" : "nodes");
    if (!place->hosts.empty()) words += ", " + CompressHosts(place->hosts);
    if (const std::string near = NearnessOf(place->hosts, fabric); !near.empty()) words += ", " + near;
  }
  // Before the reason, which may be long: a comment has room for the beginning only.
  words += Losses(id, operation, all, state);
  return reason.empty() ? words : fmt::format("{}: {}", words, reason);
}

}  // namespace fairlead::slurm
