// Of the traffic controller: what people are shown.
#include "controller/traffic_controller.h"

namespace fairlead::controller {

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
  std::vector<JobOnFabric> views;
  views.reserve(jobs_.size());
  for (const auto& [id, job] : jobs_) {
    const std::optional<Measurement> sum = Sum(job);
    views.push_back({.name = job.name,
                     .level = job.level,
                     .reason = job.reason,
                     .num_hosts = static_cast<uint32_t>(job.shares.size()),
                     .num_connections = static_cast<uint32_t>(job.connections.size()),
                     .num_unmanaged = num_unmanaged[id],
                     .iteration_time = sum ? std::optional(sum->iteration_time) : std::nullopt,
                     .intensity = job.intensity});
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
  IdVector<LinkId, uint32_t> num_queue_pairs(fabric_.num_links(), 0);
  IdVector<LinkId, double> loads(fabric_.num_links(), 0);
  paths_.VisitQueuePairs([&](const traffic::HeldQueuePair& held) {
    for (const LinkId link : held.links) {
      ++num_queue_pairs[link];
      loads[link] += held.request->weight;
    }
  });
  std::vector<LinkOnFabric> views;
  for (uint32_t l = 0; l < fabric_.num_links(); ++l) {
    const LinkId link(l);
    if (!topology::IsNetwork(fabric_.tier(link))) continue;
    views.push_back({.link = link,
                     .state = paths_.state(link),
                     .health = paths_.health(link),
                     .num_queue_pairs = num_queue_pairs[link],
                     .load = loads[link]});
  }
  return views;
}

}  // namespace fairlead::controller
