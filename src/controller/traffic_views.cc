#include "controller/traffic_views.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace fairlead::controller {
namespace {

// What all queue pairs together do on a link.
struct LinkUse {
  uint32_t num_queue_pairs = 0;
  double load = 0;  // sum of weights
};

IdVector<LinkId, LinkUse> SumUse(const traffic::PathService& paths, const topology::Fabric& fabric) {
  IdVector<LinkId, LinkUse> uses(fabric.num_links(), LinkUse{});
  paths.VisitQueuePairs([&](const traffic::HeldQueuePair& held) {
    for (const LinkId link : held.links) {
      ++uses[link].num_queue_pairs;
      uses[link].load += held.request->weight;
    }
  });
  return uses;
}

// The fullest network link on the paths of each job, and who is on these links.
struct FullestLinks {
  std::map<JobId, LinkId> link_of;
  std::map<LinkId, std::set<JobId>> users;
};

FullestLinks FindFullestLinks(const traffic::PathService& paths, const topology::Fabric& fabric) {
  // Load by what is left of the capacity.
  IdVector<LinkId, double> fullness(fabric.num_links(), 0);
  const IdVector<LinkId, LinkUse> uses = SumUse(paths, fabric);
  for (uint32_t l = 0; l < fabric.num_links(); ++l) {
    const LinkId link(l);
    if (uses[link].load == 0 || !topology::IsNetwork(fabric.tier(link))) continue;
    const double left = fabric.capacity(link).value() * paths.health(link);
    fullness[link] = left > 0 ? uses[link].load / left : std::numeric_limits<double>::infinity();
  }
  FullestLinks fullest;
  paths.VisitQueuePairs([&](const traffic::HeldQueuePair& held) {
    LinkId own;
    for (const LinkId link : held.links) {
      if (fullness[link] > 0 && (!own.valid() || fullness[link] > fullness[own])) own = link;
    }
    if (!own.valid()) return;
    const auto [place, is_new] = fullest.link_of.try_emplace(held.lease.job, own);
    if (fullness[own] > fullness[place->second]) place->second = own;
  });
  IdVector<LinkId, uint8_t> is_fullest(fabric.num_links(), 0);
  for (const auto& [job, link] : fullest.link_of) is_fullest[link] = 1;
  paths.VisitQueuePairs([&](const traffic::HeldQueuePair& held) {
    for (const LinkId link : held.links) {
      if (is_fullest[link] != 0) fullest.users[link].insert(held.lease.job);
    }
  });
  return fullest;
}

}  // namespace

std::vector<HostView> ViewHosts(const topology::Fabric& fabric, const AgentStreams& streams) {
  std::vector<HostView> views;
  views.reserve(streams.num_hosts());
  for (uint32_t h = 0; h < streams.num_hosts(); ++h) {
    const AgentStreams::Agent& agent = streams.agent(HostId(h));
    views.push_back({.name = fabric.HostName(HostId(h)),
                     .is_connected = agent.stream.has_value(),
                     .agent_version = agent.version,
                     .last_message = agent.last_message,
                     .slurm_jobs = agent.stream.has_value() ? agent.slurm_jobs : std::nullopt});
  }
  return views;
}

std::vector<JobOnFabric> ViewJobs(const topology::Fabric& fabric, const traffic::PathService& paths,
                                  const JobTable& jobs, const LevelPlanner& levels) {
  std::map<JobId, uint32_t> num_unmanaged;
  paths.VisitQueuePairs([&](const traffic::HeldQueuePair& held) {
    if (held.answer.kind == traffic::QueuePairAnswer::Kind::kUnmanaged) ++num_unmanaged[held.lease.job];
  });
  const FullestLinks fullest = FindFullestLinks(paths, fabric);
  std::vector<JobOnFabric> views;
  views.reserve(jobs.jobs().size());
  for (const auto& [id, job] : jobs.jobs()) {
    const std::optional<JobMeasurement> sum = levels.Sum(id);
    const auto link = fullest.link_of.find(id);
    std::vector<std::string> shares_with;
    if (link != fullest.link_of.end()) {
      for (const JobId other : fullest.users.at(link->second)) {
        const LiveJob* named = jobs.Find(other);
        if (other != id && named != nullptr) shares_with.push_back(named->name);
      }
    }
    views.push_back({.name = job.name,
                     .level = job.level,
                     .reason = job.reason,
                     .num_hosts = static_cast<uint32_t>(job.shares.size()),
                     .num_connections = static_cast<uint32_t>(job.connections.size()),
                     .num_unmanaged = num_unmanaged[id],
                     .num_gpus = sum ? sum->num_gpus : 0,
                     .iteration_time = sum && sum->is_period_known ? std::optional(sum->iteration_time) : std::nullopt,
                     .fastest_iteration = levels.FindFastestIteration(id),
                     .intensity = levels.FindIntensity(id),
                     .fullest_link = link == fullest.link_of.end() ? LinkId() : link->second,
                     .shares_with = std::move(shares_with)});
  }
  return views;
}

std::vector<QueuePairOnFabric> ViewQueuePairs(const traffic::PathService& paths, const JobTable& jobs,
                                              const PortMoves& moves) {
  std::vector<QueuePairOnFabric> views;
  paths.VisitQueuePairs([&](const traffic::HeldQueuePair& held) {
    const LiveJob* job = jobs.Find(held.lease.job);
    views.push_back({.job = job == nullptr ? std::string() : job->name,
                     .connection = held.request->connection,
                     .queue_pair = held.queue_pair,
                     .pid = held.request->pid,
                     .source = held.request->source,
                     .destination = held.request->destination,
                     .answer = held.answer,
                     .wire_port = moves.WirePortOf(held),
                     .links = {held.links.begin(), held.links.end()}});
  });
  return views;
}

std::vector<JobPaths> ViewJobPaths(const topology::Fabric& fabric, const traffic::PathService& paths,
                                   const JobTable& jobs) {
  std::map<JobId, std::vector<LinkId>> links_of;
  IdVector<LinkId, JobId> last_user(fabric.num_links(), JobId());  // queue pairs of a job come together as a rule
  paths.VisitQueuePairs([&](const traffic::HeldQueuePair& held) {
    std::vector<LinkId>& links = links_of[held.lease.job];
    for (const LinkId link : held.links) {
      if (last_user[link] == held.lease.job || !topology::IsNetwork(fabric.tier(link))) continue;
      last_user[link] = held.lease.job;
      links.push_back(link);
    }
  });
  std::vector<JobPaths> views;
  for (auto& [id, links] : links_of) {
    const LiveJob* job = jobs.Find(id);
    if (job == nullptr) continue;
    std::sort(links.begin(), links.end());
    links.erase(std::unique(links.begin(), links.end()), links.end());
    views.push_back({job->name, std::move(links)});
  }
  return views;
}

std::vector<LinkOnFabric> ViewLinks(const topology::Fabric& fabric, const traffic::PathService& paths) {
  const IdVector<LinkId, LinkUse> uses = SumUse(paths, fabric);
  std::vector<LinkOnFabric> views;
  for (uint32_t l = 0; l < fabric.num_links(); ++l) {
    const LinkId link(l);
    if (!topology::IsNetwork(fabric.tier(link))) continue;
    views.push_back({.link = link,
                     .state = paths.state(link),
                     .health = paths.health(link),
                     .num_queue_pairs = uses[link].num_queue_pairs,
                     .load = uses[link].load});
  }
  return views;
}

}  // namespace fairlead::controller
