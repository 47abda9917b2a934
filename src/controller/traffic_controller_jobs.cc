// Of the traffic controller: what jobs hold on hosts.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "controller/traffic_controller.h"

namespace fairlead::controller {
namespace {

constexpr size_t kJobNameMax = 128;  // of a key (model/job_identity.h)

// Empty: it is one.
std::string FaultOfJobName(const std::string& name) {
  const bool is_printable = std::all_of(name.begin(), name.end(), [](char c) { return c >= 0x20 && c <= 0x7e; });
  if (!name.empty() && name.size() <= kJobNameMax && is_printable) return "";
  return fmt::format("job name: expected 1 to {} printable characters, found {}", kJobNameMax,
                     is_printable ? fmt::format("{}", name.size()) : "others");
}

}  // namespace

std::optional<JobId> TrafficController::FindJob(const std::string& name) const {
  const auto found = job_ids_.find(name);
  return found == job_ids_.end() ? std::nullopt : std::optional(found->second);
}

const TrafficController::Connection* TrafficController::FindConnection(JobId id, HostId host,
                                                                       uint64_t connection) const {
  const auto job = jobs_.find(id);
  if (job == jobs_.end()) return nullptr;
  const auto found = job->second.connections.find(connection);
  return found == job->second.connections.end() || found->second.host != host ? nullptr : &found->second;
}

TrafficController::Connection* TrafficController::FindConnection(JobId id, HostId host, uint64_t connection) {
  return const_cast<Connection*>(std::as_const(*this).FindConnection(id, host, connection));
}

const TrafficController::Share* TrafficController::FindShare(JobId id, HostId host) const {
  const auto job = jobs_.find(id);
  if (job == jobs_.end()) return nullptr;
  const auto share = job->second.shares.find(host);
  return share == job->second.shares.end() ? nullptr : &share->second;
}

bool TrafficController::IsOwn(HostId host, const IpAddress& address) const {
  const std::optional<NicId> nic = addresses_.FindNic(address);
  return nic && fabric_.host_of(*nic) == host;
}

// Returns what is wrong; the rest is the path service's to judge.
std::string TrafficController::Translate(HostId host, const WantedConnection& wanted,
                                         traffic::ConnectionRequest* request) const {
  const std::optional<NicId> source = addresses_.FindNic(wanted.source);
  if (!source || fabric_.host_of(*source) != host) {
    return fmt::format("source {} is not a NIC of host {}: agents ask for their own host only",
                       wanted.source.ToString(), fabric_.HostName(host));
  }
  const std::optional<NicId> destination = addresses_.FindNic(wanted.destination);
  if (!destination) {
    return fmt::format("destination {}: no NIC of the address book has it", wanted.destination.ToString());
  }
  if (wanted.protocol != 6 && wanted.protocol != 17) {
    return fmt::format("protocol: expected 6 (TCP) or 17 (RoCE), found {}", wanted.protocol);
  }
  if (wanted.destination_port == 0) return "destination port: expected 1 to 65535, found 0";
  if (wanted.num_queue_pairs < 1 || wanted.num_queue_pairs > traffic::kMaxQueuePairs) {
    return fmt::format("queue pairs: expected 1 to {}, found {}", traffic::kMaxQueuePairs, wanted.num_queue_pairs);
  }
  *request = {.connection = wanted.connection,
              .source = *source,
              .destination = *destination,
              .num_queue_pairs = wanted.num_queue_pairs,
              .weight = wanted.weight,
              .protocol = wanted.protocol,
              .destination_port = wanted.destination_port};
  return "";
}

void TrafficController::Hear(HostId host, const PathsWanted& message) {
  if (const std::string fault = FaultOfJobName(message.job); !fault.empty()) return Object(host, fault);
  Request request = {.stream = *hosts_[host].stream,
                     .job = {},
                     .answer = {.request = message.request, .job = message.job, .connections = {}, .level = 0},
                     .places = {},
                     .asked = {}};
  traffic::PathsRequested wanted = {.request = ++num_requests_, .host = host, .job = {}, .connections = {}};
  request.answer.connections.reserve(message.connections.size());
  request.places.reserve(message.connections.size());
  wanted.connections.reserve(message.connections.size());
  for (const WantedConnection& one : message.connections) {
    traffic::ConnectionRequest translated;
    std::string fault = Translate(host, one, &translated);
    if (fault.empty()) {
      request.places.push_back(request.answer.connections.size());
      wanted.connections.push_back(translated);
    } else if (!IsOwn(host, one.source)) {
      Object(host, fmt::format("request for job {}: {}", message.job, fault));
    }
    request.answer.connections.push_back({.connection = one.connection, .reason = std::move(fault), .queue_pairs = {}});
  }
  const std::optional<JobId> job = wanted.connections.empty() ? FindJob(message.job) : Intern(message.job);
  if (wanted.connections.empty() || !job) {
    request.answer.level = job ? jobs_.at(*job).level : options_.num_levels - 1;
    return Say(request.stream, std::move(request.answer));
  }
  wanted.job = request.job = *job;
  request.asked = wanted.connections;
  jobs_.at(*job).num_pending++;
  if (hosts_[host].is_announcing) hosts_[host].announced.insert(*job);
  requests_.emplace(wanted.request, std::move(request));
  PassOn(host, std::move(wanted));
}

void TrafficController::Carry(traffic::PathsGranted& action) {
  const auto found = requests_.find(action.request);
  const auto job = jobs_.find(action.lease.job);
  if (found == requests_.end() || job == jobs_.end()) return;
  Request& request = found->second;
  for (size_t c = 0; c < action.connections.size() && c < request.places.size(); ++c) {
    // Without queue pairs it is refused, and not held.
    if (!action.connections[c].queue_pairs.empty()) AddConnection(request.job, action.lease.host, request.asked[c]);
    request.answer.connections[request.places[c]] = std::move(action.connections[c]);
  }
  request.answer.level = job->second.level;
  if (!streams_[request.stream].is_closed) Say(request.stream, std::move(request.answer));
  requests_.erase(found);
}

void TrafficController::AddConnection(JobId id, HostId host, const traffic::ConnectionRequest& request) {
  Job& job = jobs_.at(id);
  const auto [place, is_new] = job.connections.try_emplace(request.connection);
  if (!is_new) return;
  place->second = {.host = host, .request = request, .socket_ports = {}};
  place->second.socket_ports.resize(request.num_queue_pairs);
  job.shares[host].connections.insert(request.connection);
  hosts_[host].jobs.insert(id);
  are_levels_stale_ = true;
}

void TrafficController::Remove(JobId id, HostId host, std::span<const uint64_t> connections, Arrivals arrivals) {
  const auto job = jobs_.find(id);
  if (job == jobs_.end()) return;
  const auto share = job->second.shares.find(host);
  if (share == job->second.shares.end()) return ForgetIfUnused(id);
  for (const uint64_t name : connections) {
    const Connection* connection = FindConnection(id, host, name);
    if (connection == nullptr) continue;
    for (uint32_t q = 0; q < connection->socket_ports.size(); ++q) DropArrival({id, name, q}, arrivals);
    job->second.connections.erase(name);
    share->second.connections.erase(name);
    if (share->second.measured) share->second.measured->bytes.erase(name);
    are_levels_stale_ = true;
  }
  if (share->second.connections.empty()) {
    if (share->second.measured) --num_measured_shares_;
    job->second.shares.erase(share);
    hosts_[host].jobs.erase(id);
  }
  ForgetIfUnused(id);
}

void TrafficController::RemoveShare(JobId id, HostId host, Arrivals arrivals) {
  const Share* share = FindShare(id, host);
  if (share == nullptr) return ForgetIfUnused(id);
  const std::vector<uint64_t> held(share->connections.begin(), share->connections.end());
  Remove(id, host, held, arrivals);
}

void TrafficController::Hear(HostId host, const ConnectionOpened& message) {
  const std::optional<JobId> job = FindJob(message.job);
  Connection* connection = job ? FindConnection(*job, host, message.connection) : nullptr;
  if (connection == nullptr || message.queue_pair >= connection->socket_ports.size() || message.socket_port == 0) {
    return Object(host, fmt::format("connection {} opened: this host holds no such queue pair, or its port is 0",
                                    message.connection));
  }
  const QueuePairKey key{*job, message.connection, message.queue_pair};
  PassPort(key, host, message.socket_port, message.socket_port);
  uint16_t& socket_port = connection->socket_ports[message.queue_pair];
  const bool is_roce = connection->request.protocol == 17;
  if (socket_port == message.socket_port) return;
  if (socket_port != 0 && !is_roce) DropArrival(key);  // it was opened again
  socket_port = message.socket_port;
  if (is_roce) return;  // stays where it is
  MoveIfNeeded(key, *connection, message.socket_port);
}

void TrafficController::PassPort(const QueuePairKey& key, HostId host, uint16_t port, uint16_t socket_port) {
  if (port == 0) return;
  opened_.emplace_back(traffic::QueuePairOpened{.host = host,
                                                .job = key.job,
                                                .connection = key.connection,
                                                .queue_pair = key.queue_pair,
                                                .port = port,
                                                .socket_port = socket_port});
}

void TrafficController::Hear(HostId host, const ConnectionsClosed& message) {
  const std::optional<JobId> job = FindJob(message.job);
  if (!job) return;
  // No earlier message of this host is pending.
  releases_.emplace_back(traffic::ConnectionsReleased{.host = host, .job = *job, .connections = message.connections});
  if (message.connections.empty()) {
    RemoveShare(*job, host);
  } else {
    Remove(*job, host, message.connections);
  }
}

// Our own list first, so that corrections find the sockets' ports; then what the path service did not take is struck.
void TrafficController::Hear(HostId host, const ConnectionsHeld& message) {
  if (const std::string fault = FaultOfJobName(message.job); !fault.empty()) return Object(host, fault);
  traffic::LeasesAnnounced announced = {.host = host, .job = {}, .connections = {}};
  std::vector<const HeldConnection*> taken;
  for (const HeldConnection& held : message.connections) {
    traffic::HeldConnection translated = {.request = {}, .queue_pairs = held.queue_pairs};
    const std::string fault = TranslateHeld(host, held, &translated.request);
    if (fault.empty()) {
      announced.connections.push_back(std::move(translated));
      taken.push_back(&held);
    } else {
      Object(host, fmt::format("announcement of job {}: {}", message.job, fault));
    }
  }
  const std::optional<JobId> job = taken.empty() ? FindJob(message.job) : Intern(message.job);
  if (!job) return;
  announced.job = *job;
  if (hosts_[host].is_announcing) hosts_[host].announced.insert(*job);
  ReleaseOthers(*job, host, announced.connections);
  std::set<uint64_t> named;
  for (size_t c = 0; c < taken.size(); ++c) {
    named.insert(taken[c]->wanted.connection);
    TakeHeld(*job, host, announced.connections[c], taken[c]->socket_ports);
  }
  Pass(std::move(announced));
  Flush();
  StrikeAllBut(*job, host, named);
  if (FindShare(*job, host) == nullptr) return ForgetIfUnused(*job);
  for (const HeldConnection* held : taken) {
    const uint64_t name = held->wanted.connection;
    const Connection* connection = FindConnection(*job, host, name);
    if (connection == nullptr || connection->socket_ports.size() != held->queue_pairs.size()) continue;
    for (uint32_t q = 0; q < held->queue_pairs.size(); ++q) {
      const uint16_t socket_port = held->socket_ports[q];
      if (socket_port != 0) PassPort({*job, name, q}, host, WirePortOf({*job, name, q}, socket_port), socket_port);
      MoveIfNeeded({*job, name, q}, *connection, held->queue_pairs[q].port);
    }
  }
  const Job& known = jobs_.at(*job);
  SendTo(host, LevelSet{.job = known.name, .level = known.level, .reason = known.reason});
}

// What an agent announces is what it has, whatever was said in its name before.
void TrafficController::ReleaseOthers(JobId job, HostId host, std::span<const traffic::HeldConnection> announced) {
  traffic::ConnectionsReleased others = {.host = host, .job = job, .connections = {}};
  for (const traffic::HeldConnection& held : announced) {
    const Connection* known = FindConnection(job, host, held.request.connection);
    if (known != nullptr && known->request != held.request) others.connections.push_back(held.request.connection);
  }
  if (others.connections.empty()) return;
  ++jobs_.at(job).num_pending;  // it keeps its number
  Remove(job, host, others.connections);
  --jobs_.at(job).num_pending;
  releases_.push_back(std::move(others));
}

// Connections of an earlier agent of this host that this one has forgotten: heartbeats would keep them forever.
void TrafficController::Hear(HostId host, const AnnouncementFinished&) {
  if (!std::exchange(hosts_[host].is_announcing, false)) return;
  const std::set<JobId> announced = std::exchange(hosts_[host].announced, {});
  const std::set<JobId> held = hosts_[host].jobs;
  for (const JobId job : held) {
    if (announced.contains(job)) continue;
    Note(Noted::Severity::kWarning, HostSubject(host),
         fmt::format("its agent no longer has {} connections of job {}: they are released",
                     jobs_.at(job).shares.at(host).connections.size(), jobs_.at(job).name));
    releases_.emplace_back(traffic::ConnectionsReleased{.host = host, .job = job, .connections = {}});
    RemoveShare(job, host);
  }
}

std::string TrafficController::TranslateHeld(HostId host, const HeldConnection& held,
                                             traffic::ConnectionRequest* request) const {
  std::string fault = Translate(host, held.wanted, request);
  const size_t expected = held.wanted.num_queue_pairs;
  if (!fault.empty() || (held.queue_pairs.size() == expected && held.socket_ports.size() == expected)) return fault;
  return fmt::format("expected {} queue pairs, found {} paths and {} ports", expected, held.queue_pairs.size(),
                     held.socket_ports.size());
}

void TrafficController::TakeHeld(JobId job, HostId host, const traffic::HeldConnection& held,
                                 const std::vector<uint16_t>& socket_ports) {
  const uint64_t name = held.request.connection;
  AddConnection(job, host, held.request);
  Connection* mine = FindConnection(job, host, name);
  // The name may be another's: the path service will say so.
  if (mine == nullptr || mine->request != held.request) return;
  for (uint32_t q = 0; q < socket_ports.size(); ++q) {
    const QueuePairKey key{job, name, q};
    if (mine->socket_ports[q] != socket_ports[q]) DropArrival(key);
    mine->socket_ports[q] = socket_ports[q];
    TakeHeldPort(key, *mine, held.queue_pairs[q]);
  }
}

// Of a host's share: what was not named, and what the path service does not have.
void TrafficController::StrikeAllBut(JobId job, HostId host, const std::set<uint64_t>& named) {
  const Share* share = FindShare(job, host);
  if (share == nullptr) return;
  std::vector<uint64_t> gone;
  for (const uint64_t name : share->connections) {
    if (!named.contains(name) || !paths_.Find(job, name)) gone.push_back(name);
  }
  Remove(job, host, gone);
}

}  // namespace fairlead::controller
