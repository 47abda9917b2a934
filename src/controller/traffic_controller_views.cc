// Of the traffic controller: what people are shown.
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "controller/traffic_controller.h"

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

std::vector<HostView> TrafficController::Hosts() const {
  std::vector<HostView> views;
  views.reserve(hosts_.size());
  for (uint32_t h = 0; h < hosts_.size(); ++h) {
    const Host& host = hosts_[HostId(h)];
    views.push_back({.name = fabric_.HostName(HostId(h)),
                     .is_connected = host.stream.has_value(),
                     .agent_version = host.agent_version,
                     .last_message = host.last_message});
  }
  return views;
}

std::vector<JobOnFabric> TrafficController::Jobs() const {
  std::map<JobId, uint32_t> num_unmanaged;
  paths_.VisitQueuePairs([&](const traffic::HeldQueuePair& held) {
    if (held.answer.kind == traffic::QueuePairAnswer::Kind::kUnmanaged) ++num_unmanaged[held.lease.job];
  });
  const FullestLinks fullest = FindFullestLinks(paths_, fabric_);
  std::vector<JobOnFabric> views;
  views.reserve(jobs_.size());
  for (const auto& [id, job] : jobs_) {
    const std::optional<Measurement> sum = Sum(job);
    const auto link = fullest.link_of.find(id);
    std::vector<std::string> shares_with;
    if (link != fullest.link_of.end()) {
      for (const JobId other : fullest.users.at(link->second)) {
        const auto named = jobs_.find(other);
        if (other != id && named != jobs_.end()) shares_with.push_back(named->second.name);
      }
    }
    views.push_back({.name = job.name,
                     .level = job.level,
                     .reason = job.reason,
                     .num_hosts = static_cast<uint32_t>(job.shares.size()),
                     .num_connections = static_cast<uint32_t>(job.connections.size()),
                     .num_unmanaged = num_unmanaged[id],
                     .num_gpus = sum ? sum->num_gpus : 0,
                     .iteration_time = sum ? std::optional(sum->iteration_time) : std::nullopt,
                     .fastest_iteration = job.fastest_iteration,
                     .intensity = job.intensity,
                     .fullest_link = link == fullest.link_of.end() ? LinkId() : link->second,
                     .shares_with = std::move(shares_with)});
  }
  return views;
}

std::vector<QueuePairOnFabric> TrafficController::QueuePairs() const {
  std::vector<QueuePairOnFabric> views;
  paths_.VisitQueuePairs([&](const traffic::HeldQueuePair& held) {
    const auto job = jobs_.find(held.lease.job);
    views.push_back({.job = job == jobs_.end() ? std::string() : job->second.name,
                     .connection = held.request->connection,
                     .queue_pair = held.queue_pair,
                     .source = held.request->source,
                     .destination = held.request->destination,
                     .answer = held.answer,
                     .wire_port = WirePortOf(held),
                     .links = {held.links.begin(), held.links.end()}});
  });
  return views;
}

std::vector<LinkOnFabric> TrafficController::Links() const {
  const IdVector<LinkId, LinkUse> uses = SumUse(paths_, fabric_);
  std::vector<LinkOnFabric> views;
  for (uint32_t l = 0; l < fabric_.num_links(); ++l) {
    const LinkId link(l);
    if (!topology::IsNetwork(fabric_.tier(link))) continue;
    views.push_back({.link = link,
                     .state = paths_.state(link),
                     .health = paths_.health(link),
                     .num_queue_pairs = uses[link].num_queue_pairs,
                     .load = uses[link].load});
  }
  return views;
}

}  // namespace fairlead::controller
