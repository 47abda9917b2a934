// Established connections: their traffic class, the port that the wire shows, and whether they still live.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "agent/host_agent.h"

namespace fairlead::agent {

namespace {

// How long to wait for the socket of a connection whose process went silently.
constexpr SimDuration kUnclearFor(1'000'000'000);

SocketPair EndsOf(const KeptConnection& kept) {
  return {.local = kept.wanted.source,
          .remote = kept.wanted.destination,
          .local_port = kept.socket_port,
          .remote_port = kept.wanted.destination_port};
}

}  // namespace

// ---- Classes ----

void HostAgent::SetLevel(const std::string& job, uint32_t level) {
  if (level > 7) return;
  const auto [entry, is_new] = levels_.try_emplace(job, level);
  if (!is_new && entry->second == level) return;
  entry->second = level;
  outbox_.Change();
  const auto numbers = jobs_.find(job);
  if (numbers != jobs_.end()) {
    for (const uint64_t number : numbers->second) ClassifySocket(&connections_.at(number));
  }
  accepted_.ClassifyJob(job);
}

void HostAgent::ForgetLevel(const std::string& job) {
  if (!accepted_.HasSocketsOf(job)) levels_.erase(job);
}

void HostAgent::ClassifySocket(Connection* connection) {
  const auto traffic_class = ClassOf(levels_, connection->kept.job);
  const bool is_due = connection->stage == Stage::kOpen && traffic_class.has_value() &&
                      connection->traffic_class != traffic_class && connection->kept.inode != 0;
  if (!is_due) return;
  connection->traffic_class = traffic_class;
  Act(SetSocketClass{.pid = connection->kept.pid,
                     .inode = connection->kept.inode,
                     .is_ipv6 = !connection->kept.wanted.source.is_ipv4(),
                     .traffic_class = *traffic_class});
}

// ---- Departures ----

RewriteRule HostAgent::DepartureOf(const Connection& connection) const {
  const controller::WantedConnection& wanted = connection.kept.wanted;
  return {.direction = RewriteRule::Direction::kDeparture,
          .source = wanted.source,
          .destination = wanted.destination,
          .from_port = connection.kept.socket_port,
          .destination_port = wanted.destination_port};
}

bool HostAgent::IsPortTaken(const Connection& connection, uint16_t port) const {
  const controller::WantedConnection& wanted = connection.kept.wanted;
  for (const auto& [number, other] : connections_) {
    if (&other == &connection || other.kept.wanted.destination != wanted.destination ||
        other.kept.wanted.destination_port != wanted.destination_port || other.kept.wanted.source != wanted.source ||
        other.kept.wanted.protocol != wanted.protocol) {
      continue;
    }
    if (other.kept.socket_port == port || other.kept.wire_port == port || other.next_wire_port == port) return true;
  }
  return wanted.protocol == 6 &&
         resting_.IsTaken({wanted.source, wanted.destination, port, wanted.destination_port}, wanted.connection);
}

void HostAgent::RestPort(const Connection& connection, uint16_t port) {
  if (port == 0 || port == connection.kept.socket_port || connection.kept.wanted.protocol != 6) return;
  const controller::WantedConnection& wanted = connection.kept.wanted;
  const SocketPair ends = {wanted.source, wanted.destination, port, wanted.destination_port};
  if (resting_.Add(ends, wanted.connection, now())) outbox_.Change();
}

void HostAgent::Move(Connection* connection, uint16_t port) {
  KeptConnection& kept = connection->kept;
  if (port == (connection->ticket != 0 ? connection->next_wire_port : kept.wire_port)) return;
  if (kept.wanted.protocol != 6) {
    return RefuseMove(*connection, port, "a queue pair of RoCE can't be moved from outside of its process");
  }
  if (IsPortTaken(*connection, port)) {
    return RefuseMove(*connection, port, "another connection to the same place has the port");
  }
  departure_tickets_.erase(connection->ticket);
  const RewriteRule departure = DepartureOf(*connection);
  connection->ticket = port == kept.socket_port ? orders_.ClearOnce(departure) : orders_.Set(departure, port);
  connection->next_wire_port = port;
  departure_tickets_[connection->ticket] = kept.wanted.connection;
}

void HostAgent::RefuseMove(const Connection& connection, uint16_t port, const std::string& why) {
  const KeptConnection& kept = connection.kept;
  RestPort(connection, port);  // its destination is prepared for it
  Note("a connection of job " + kept.job + " stays on port " + std::to_string(kept.wire_port) + ": " + why);
  Send(controller::MoveRefused{.job = kept.job,
                               .connection = kept.wanted.connection,
                               .queue_pair = 0,
                               .port = port,
                               .wire_port = kept.wire_port,
                               .reason = why});
}

void HostAgent::Take(const RewriteDone& event) {
  if (arrivals_.Finish(event)) return;
  const auto departure = departure_tickets_.extract(event.ticket);
  if (departure.empty()) return orders_.Finish(event);
  Connection& connection = connections_.at(departure.mapped());
  connection.ticket = 0;
  const uint16_t port = std::exchange(connection.next_wire_port, uint16_t{0});
  if (!event.error.empty()) return RefuseMove(connection, port, event.error);
  RestPort(connection, connection.kept.wire_port);
  connection.kept.wire_port = port;
  outbox_.Change();
}

// The kernel may have kept the rules of the agent before us, or not. Those that it has are in force, whatever the state
// says, and no others: after a boot the ports may be those of a later connection. A departure of an unknown connection
// is removed, which is always safe: its packets then have the socket's port.
void HostAgent::RestoreRewriting(const std::map<RewriteRule, uint16_t>& installed) {
  std::map<RewriteRule, Connection*> by_departure;
  for (auto& [number, connection] : connections_) by_departure.emplace(DepartureOf(connection), &connection);
  for (const auto& [rule, port] : installed) {
    if (rule.direction != RewriteRule::Direction::kDeparture) {
      orders_.Inherit(rule, port);
      continue;
    }
    const auto known = by_departure.find(rule);
    if (known == by_departure.end()) {
      orders_.Clear(rule);
    } else if (std::exchange(known->second->kept.wire_port, port) != port) {
      outbox_.Change();
    }
  }
  for (auto& [number, connection] : connections_) {
    KeptConnection& kept = connection.kept;
    if (kept.inode == 0 || kept.wire_port == kept.socket_port || installed.contains(DepartureOf(connection))) continue;
    kept.wire_port = kept.socket_port;
    outbox_.Change();
  }
}

// ---- Sockets ----

void HostAgent::Take(const SocketsSeen& event) {
  seen_.clear();
  AcceptedSockets::ByInode by_inode;
  std::set<SocketPair> over;
  for (const SeenSocket& socket : event.sockets) {
    seen_.emplace(socket.ends, socket.inode);
    if (socket.is_over) over.insert(socket.ends);
    if (socket.inode != 0) by_inode.emplace(socket.inode, &socket);
  }
  LookAtConnections(event.asked_at, by_inode, over);
  CountBytes(event.asked_at, event.sockets);
  accepted_.Look(event.asked_at, by_inode,
                 [this](const auto& accepted, const SocketPair& ends) { return HoldAccepted(accepted, ends); });
  arrivals_.Look(event.asked_at, seen_);
  std::unordered_set<uint64_t> opened;
  for (const auto& [number, connection] : connections_) opened.insert(connection.kept.inode);
  accepted_.LookForOwners(event, opened, [this](const SocketPair& ends) { return MaySteer(ends); });
}

void HostAgent::LookAtConnections(SimTime asked_at, const AcceptedSockets::ByInode& sockets,
                                  const std::set<SocketPair>& over) {
  std::vector<uint64_t> gone;
  for (auto& [number, connection] : connections_) {
    const KeptConnection& kept = connection.kept;
    if (kept.inode == 0) continue;
    if (connection.stage == Stage::kUnclear) {
      const auto found = sockets.find(kept.inode);
      const bool is_it = found != sockets.end() && found->second->ends.remote == kept.wanted.destination &&
                         found->second->ends.remote_port == kept.wanted.destination_port;
      if (is_it) {
        Open(&connection, found->second->ends.local_port);
      } else if (connection.since + kUnclearFor < asked_at) {
        gone.push_back(number);
      }
    }
    if (connection.stage != Stage::kOpen) continue;
    // The same ports may be those of a later connection already.
    const auto found = seen_.find(EndsOf(kept));
    const bool is_there =
        found != seen_.end() && !over.contains(found->first) && (found->second == 0 || found->second == kept.inode);
    if (!is_there && connection.since < asked_at) gone.push_back(number);
    // The agent before us may have died between a new level and its sockets.
    if (is_there && !connection.traffic_class.has_value()) ClassifySocket(&connection);
  }
  CloseAll(gone);
}

void HostAgent::Take(const BytesSeen& event) { CountBytes(event.asked_at, event.sockets); }

void HostAgent::CountBytes(SimTime at, std::span<const SeenSocket> sockets) {
  std::map<SocketPair, double> bytes;
  for (const SeenSocket& socket : sockets) bytes.emplace(socket.ends, socket.bytes_acked);
  std::map<std::string, std::vector<JobMeter::ConnectionSum>> sums;
  for (const auto& [number, connection] : connections_) {
    if (!HasOpenSocket(connection)) continue;
    const auto found = bytes.find(EndsOf(connection.kept));
    if (found != bytes.end()) sums[connection.kept.job].push_back({number, found->second});
  }
  for (const auto& [job, connections] : sums) meter_.AddBytes(at, job, connections);
}

std::vector<SocketPair> HostAgent::OpenSockets() const {
  std::vector<SocketPair> sockets;
  for (const auto& [number, connection] : connections_) {
    if (HasOpenSocket(connection)) sockets.push_back(EndsOf(connection.kept));
  }
  return sockets;
}

bool HostAgent::MaySteer(const SocketPair& ends) const {
  return addresses_.AreTraining(ends.local, ends.remote) && !addresses_.IsStranger(ends.remote, now()) &&
         connections_.size() < options_.num_connections_max;
}

bool HostAgent::HoldAccepted(const AcceptedSockets::Accepted& accepted, const SocketPair& ends) {
  if (!MaySteer(ends)) return false;
  Connection connection;
  connection.kept.job = accepted.kept.job;
  connection.kept.wanted = {
      .source = ends.local, .destination = ends.remote, .protocol = 6, .destination_port = ends.remote_port};
  connection.kept.pid = accepted.kept.pid;
  connection.kept.inode = accepted.kept.inode;
  connection.traffic_class = accepted.traffic_class;
  Open(&Hold(std::move(connection)), ends.local_port);
  return true;
}

}  // namespace fairlead::agent
