#include "service/agent/socket_sampler.h"

#include <algorithm>

#include "service/agent/agent_clock.h"
#include "service/agent/socket_owners.h"
#include "service/agent/tcp_sockets.h"

namespace fairlead::service {

namespace {

constexpr int64_t kRestFactor = 20;
constexpr size_t kLookUpMax = 256;  // more sockets are cheaper to list than to look up

}  // namespace

void SocketSampler::Sample(SimTime now, const agent::HostAgent& agent) {
  if (now < Next(agent) || thread_.num_waiting() > 0) return;
  std::vector<agent::SocketPair> wanted = agent.OpenSockets();
  const bool are_many = wanted.size() > kLookUpMax;
  const bool lists = next_list_ <= now || are_many;
  std::atomic<int64_t>& took_ns = lists ? list_took_ns_ : sample_took_ns_;
  const SimDuration list_rest(list_took_ns_ * kRestFactor), sample_rest(sample_took_ns_ * kRestFactor);
  next_sample_ = now + std::max(options_.sample_period, are_many ? list_rest : sample_rest);
  if (lists) next_list_ = now + std::max(options_.list_period, list_rest);
  thread_.Do([this, lists, &took_ns, wanted = std::move(wanted)] {
    const SimTime began = AgentClock();
    const SimDuration spent = ProcessorTime();
    auto sockets = lists ? ListTcpSockets() : LookUpTcpSockets(wanted);
    if (!sockets.ok()) return once_.Tell(sockets.status().message());
    ReadGpus(began);
    // Of the processor: on a busy host samples take long, and would be rare where they are needed most.
    took_ns = (ProcessorTime() - spent).ns();
    if (lists) {
      inbox_.Push(agent::SocketsSeen{began, std::move(*sockets)});
    } else {
      inbox_.Push(agent::BytesSeen{began, std::move(*sockets)});
    }
  });
}

SimTime SocketSampler::Next(const agent::HostAgent& agent) const {
  return is_measured_ && agent.num_connections() > 0 ? std::min(next_list_, next_sample_) : next_list_;
}

SimTime SocketSampler::NextDue(const agent::HostAgent& agent) const {
  return thread_.num_waiting() == 0 ? Next(agent) : SimTime::Never();
}

void SocketSampler::ReadGpus(SimTime at) {
  if (!options_.read_gpus) return;
  auto gpus = options_.read_gpus(&jobs_, at);
  if (!gpus.ok()) return once_.Tell(gpus.status().message());
  is_measured_ = !gpus->empty();
  const std::lock_guard lock(gpus_mutex_);
  gpus_.emplace_back(at, std::move(*gpus));
}

void SocketSampler::CountGpus(agent::HostAgent* agent) {
  const std::lock_guard lock(gpus_mutex_);
  for (const auto& [at, sums] : gpus_) agent->CountGpus(at, sums);
  gpus_.clear();
}

void SocketSampler::FindOwners(const std::vector<uint64_t>& inodes) {
  thread_.Do([this, inodes] {
    inbox_.Push(agent::OwnersFound{FindSocketOwners(inodes, options_.socket_path, &jobs_, AgentClock())});
  });
}

}  // namespace fairlead::service
