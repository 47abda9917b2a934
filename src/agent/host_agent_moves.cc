// Established connections: their traffic class, the port that the wire shows, and whether they still live.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "agent/host_agent.h"
#include "shm/job_name.h"

namespace fairlead::agent {

namespace {

// How long to wait for a socket that has not been seen: of connections whose process went silently, and of arrivals
// that were prepared.
constexpr SimDuration kUnclearFor(1'000'000'000);
constexpr SimDuration kUnseenFor(10'000'000'000);

// A rule that the kernel did not clear would rewrite packets of a later connection.
constexpr SimDuration kClearAgain(1'000'000'000);

// Wire ports of one connection that arrive here, beside the latest.
constexpr size_t kOldPortsMax = 8;

// Looking for owners of sockets goes through processes: at most so often, and for a twentieth of the time.
constexpr SimDuration kShortestRest(1'000'000'000);
constexpr int64_t kRestFactor = 20;

// An accepted connection sends data, and not just messages about what it receives (credits, requests): so many bytes,
// and such a share of what it receives.
constexpr double kBytesOfSender = 64 * 1024;
constexpr double kShareOfSender = 1.0 / 16;

bool Sends(const SeenSocket& socket) {
  return socket.bytes_acked >= kBytesOfSender && socket.bytes_acked >= kShareOfSender * socket.bytes_received;
}

SocketPair EndsOf(const KeptConnection& kept) {
  return {.local = kept.wanted.source,
          .remote = kept.wanted.destination,
          .local_port = kept.socket_port,
          .remote_port = kept.wanted.destination_port};
}

SocketPair EndsOf(const KeptAlias& alias, uint16_t port) {
  return {
      .local = alias.destination, .remote = alias.source, .local_port = alias.destination_port, .remote_port = port};
}

RewriteRule ArrivalOf(const KeptAlias& alias, uint16_t wire_port) {
  return {.direction = RewriteRule::Direction::kArrival,
          .source = alias.source,
          .destination = alias.destination,
          .from_port = wire_port,
          .destination_port = alias.destination_port};
}

}  // namespace

// ---- Classes ----

std::optional<uint8_t> HostAgent::ClassOf(const std::string& job) const {
  const auto level = levels_.find(job);
  if (level == levels_.end()) return std::nullopt;
  return TrafficClassOf(level->second);
}

void HostAgent::SetLevel(const std::string& job, uint32_t level) {
  if (level > 7) return;
  const auto [entry, is_new] = levels_.try_emplace(job, level);
  if (!is_new && entry->second == level) return;
  entry->second = level;
  ++revision_;
  const auto numbers = jobs_.find(job);
  if (numbers != jobs_.end()) {
    for (const uint64_t number : numbers->second) ClassifySocket(&connections_.at(number));
  }
  for (auto& [inode, accepted] : accepted_) {
    if (accepted.kept.job == job) Classify(inode, &accepted);
  }
}

void HostAgent::Classify(uint64_t inode, Accepted* accepted) {
  const auto traffic_class = ClassOf(accepted->kept.job);
  if (!traffic_class.has_value() || accepted->traffic_class == traffic_class) return;
  accepted->traffic_class = traffic_class;
  Act(SetSocketClass{
      .pid = accepted->kept.pid, .inode = inode, .is_ipv6 = accepted->kept.is_ipv6, .traffic_class = *traffic_class});
}

void HostAgent::ForgetLevel(const std::string& job) {
  const bool has_accepted =
      std::any_of(accepted_.begin(), accepted_.end(), [&](const auto& entry) { return entry.second.kept.job == job; });
  if (!has_accepted) levels_.erase(job);
}

void HostAgent::ClassifySocket(Connection* connection) {
  const auto traffic_class = ClassOf(connection->kept.job);
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
  const auto rest = rests_.find({wanted.source, wanted.destination, port, wanted.destination_port});
  return wanted.protocol == 6 && rest != rests_.end() && rest->second.connection != wanted.connection;
}

void HostAgent::RestPort(const Connection& connection, uint16_t port) {
  if (port == 0 || port == connection.kept.socket_port || connection.kept.wanted.protocol != 6) return;
  const controller::WantedConnection& wanted = connection.kept.wanted;
  if (rests_.size() >= options_.num_connections_max) return;
  rests_[{wanted.source, wanted.destination, port, wanted.destination_port}] = {wanted.connection,
                                                                                now_ + options_.port_rest};
  ++revision_;
}

void HostAgent::EndRests() {
  if (std::erase_if(rests_, [this](const auto& entry) { return entry.second.until <= now_; }) > 0) ++revision_;
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
  connection->ticket = ++num_tickets_;
  connection->next_wire_port = port;
  departure_tickets_[connection->ticket] = kept.wanted.connection;
  if (port == kept.socket_port) {
    Act(ClearRewrite{.ticket = connection->ticket, .rule = DepartureOf(*connection)});
  } else {
    Set(connection->ticket, DepartureOf(*connection), port);
  }
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

// ---- Arrivals ----

std::string HostAgent::ObjectionTo(const controller::PrepareArrival& message) const {
  if (message.protocol != 6) return "only TCP is rewritten";
  if (!IsNic(message.destination) || message.source.is_unset()) {
    return message.destination.ToString() + " is no training NIC of this host";
  }
  if (message.destination_port == 0 || message.socket_port == 0 || message.wire_port == 0) return "a port is 0";
  if (!aliases_.contains(message.alias) && aliases_.size() >= options_.num_connections_max) {
    return "this host rewrites for as many connections as it can";
  }
  const SocketPair of_wire = {.local = message.destination,
                              .remote = message.source,
                              .local_port = message.destination_port,
                              .remote_port = message.wire_port};
  if (message.wire_port != message.socket_port && seen_.contains(of_wire)) {
    return "another connection from there has port " + std::to_string(message.wire_port);
  }
  return "";
}

void HostAgent::Hear(const controller::PrepareArrival& message) {
  if (const std::string objection = ObjectionTo(message); !objection.empty()) {
    return AnswerArrival(message.alias, 0, objection);
  }
  KeptAlias kept = {.alias = message.alias,
                    .source = message.source,
                    .destination = message.destination,
                    .destination_port = message.destination_port,
                    .socket_port = message.socket_port,
                    .wire_ports = {}};
  const auto known = aliases_.find(message.alias);
  if (known != aliases_.end()) {
    const std::vector<uint16_t> wire_ports = std::exchange(known->second.kept.wire_ports, {});
    const bool is_same = known->second.kept == kept;
    known->second.kept.wire_ports = wire_ports;
    if (!is_same) DropAlias(message.alias);
  }
  Alias& alias =
      aliases_.try_emplace(message.alias, Alias{.kept = kept, .old_ports = {}, .seen_at = now_, .installed = {}})
          .first->second;
  alias.seen_at = now_;
  std::vector<uint16_t>& ports = alias.kept.wire_ports;
  std::erase(ports, message.wire_port);
  // Ports of before stay: the source need not have heard that it moves, and nothing shows when it has. Of too many the
  // oldest go.
  for (size_t p = 0; p + kOldPortsMax < ports.size(); ++p) {
    alias.old_ports.try_emplace(ports[p], now_ + options_.arrival_linger);
  }
  alias.old_ports.erase(message.wire_port);
  ++revision_;
  if (message.wire_port == message.socket_port) return AnswerArrival(message.alias, 0, "");
  ports.push_back(message.wire_port);
  // Packets of a port belong to whom it was given last.
  const RewriteRule rule = ArrivalOf(alias.kept, message.wire_port);
  const auto [owner, is_free] = arrivals_.try_emplace(rule, message.alias);
  if (!is_free && owner->second != message.alias) {
    Alias& other = aliases_.at(owner->second);
    std::erase(other.kept.wire_ports, message.wire_port);
    other.old_ports.erase(message.wire_port);
    other.installed.erase(message.wire_port);
    owner->second = message.alias;
  }
  if (IsInherited(rule, message.socket_port)) alias.installed.insert(message.wire_port);
  arrival_tickets_[++num_tickets_] = {message.alias, message.wire_port};
  arrival_answers_[message.alias].push_back({.ticket = num_tickets_, .error = {}});
  Set(num_tickets_, rule, message.socket_port);
}

void HostAgent::AnswerArrival(uint64_t alias, uint64_t ticket, const std::string& error) {
  std::deque<ArrivalAnswer>& answers = arrival_answers_[alias];
  if (ticket == 0) answers.push_back({.ticket = 0, .error = error});
  for (ArrivalAnswer& answer : answers) {
    if (ticket != 0 && answer.ticket == ticket) answer.error = error;
  }
  for (; !answers.empty() && answers.front().error.has_value(); answers.pop_front()) {
    Send(controller::ArrivalPrepared{.alias = alias, .error = *answers.front().error});
  }
  if (answers.empty()) arrival_answers_.erase(alias);
}

void HostAgent::ClearArrival(Alias* alias, uint16_t wire_port) {
  const RewriteRule rule = ArrivalOf(alias->kept, wire_port);
  arrivals_.erase(rule);
  alias->installed.erase(wire_port);
  Clear(rule);
}

void HostAgent::DropAlias(uint64_t number) {
  const auto found = aliases_.find(number);
  if (found == aliases_.end()) return;
  for (const uint16_t port : found->second.kept.wire_ports) ClearArrival(&found->second, port);
  std::erase_if(arrival_tickets_, [&](const auto& ticket) { return ticket.second.first == number; });
  arrival_answers_.erase(number);
  aliases_.erase(found);
  ++revision_;
}

void HostAgent::DropOldArrivals() {
  for (auto& [number, alias] : aliases_) {
    for (auto port = alias.old_ports.begin(); port != alias.old_ports.end();) {
      if (now_ < port->second) {
        ++port;
        continue;
      }
      ClearArrival(&alias, port->first);
      std::erase(alias.kept.wire_ports, port->first);
      port = alias.old_ports.erase(port);
      ++revision_;
    }
  }
}

// The source may still rewrite, if its agent has lost what it knew of the connection: so it stays while the socket is
// there.
void HostAgent::Hear(const controller::ForgetArrival& message) {
  const auto alias = aliases_.find(message.alias);
  if (alias == aliases_.end()) return;
  alias->second.was_seen = seen_.contains(EndsOf(alias->second.kept, alias->second.kept.socket_port));
  if (!alias->second.was_seen) DropAlias(message.alias);
}

void HostAgent::Take(const RewriteDone& event) {
  if (const auto arrival = arrival_tickets_.extract(event.ticket)) {
    const auto [number, port] = arrival.mapped();
    const auto alias = aliases_.find(number);
    if (alias != aliases_.end()) TakeArrivalDone(number, &alias->second, port, event.error);
    return AnswerArrival(number, event.ticket, event.error);
  }
  const auto departure = departure_tickets_.extract(event.ticket);
  if (departure.empty()) {
    const auto clear =
        std::ranges::find(clears_, event.ticket, [](const auto& pending) { return pending.second.ticket; });
    if (clear == clears_.end()) return;
    if (event.error.empty()) {
      clears_.erase(clear);
    } else {
      clear->second.again_at = now_ + kClearAgain;
    }
    return;
  }
  Connection& connection = connections_.at(departure.mapped());
  connection.ticket = 0;
  const uint16_t port = std::exchange(connection.next_wire_port, uint16_t{0});
  if (!event.error.empty()) return RefuseMove(connection, port, event.error);
  RestPort(connection, connection.kept.wire_port);
  connection.kept.wire_port = port;
  ++revision_;
}

void HostAgent::Set(uint64_t ticket, const RewriteRule& rule, uint16_t port) {
  clears_.erase(rule);
  Act(SetRewrite{.ticket = ticket, .rule = rule, .to_port = port});
}

bool HostAgent::IsInherited(const RewriteRule& rule, uint16_t port) const {
  const auto known = inherited_.find(rule);
  return known != inherited_.end() && known->second == port;
}

void HostAgent::Clear(const RewriteRule& rule) {
  inherited_.erase(rule);
  clears_[rule] = {.ticket = ++num_tickets_};
  Act(ClearRewrite{.ticket = num_tickets_, .rule = rule});
}

void HostAgent::ClearAgain() {
  for (auto& [rule, clear] : clears_) {
    if (now_ < clear.again_at) continue;
    clear = {.ticket = ++num_tickets_};
    Act(ClearRewrite{.ticket = num_tickets_, .rule = rule});
  }
}

// A rule that could not be set again is still there.
void HostAgent::TakeArrivalDone(uint64_t number, Alias* alias, uint16_t port, const std::string& error) {
  if (error.empty()) alias->installed.insert(port);
  if (error.empty() || alias->installed.contains(port)) return;
  const auto rule = arrivals_.find(ArrivalOf(alias->kept, port));
  if (rule != arrivals_.end() && rule->second == number) ClearArrival(alias, port);
  std::erase(alias->kept.wire_ports, port);
  ++revision_;
}

// The kernel may have kept the rules of the agent before us, or not. Those that it has are in force, whatever the state
// says, and no others: after a boot the ports may be those of a later connection. A departure of an unknown connection
// is removed, which is always safe: its packets then have the socket's port.
void HostAgent::RestoreRewriting(const std::map<RewriteRule, uint16_t>& installed) {
  std::map<RewriteRule, Connection*> by_departure;
  for (auto& [number, connection] : connections_) by_departure.emplace(DepartureOf(connection), &connection);
  for (const auto& [rule, port] : installed) {
    if (rule.direction != RewriteRule::Direction::kDeparture) {
      inherited_.emplace(rule, port);
      continue;
    }
    const auto known = by_departure.find(rule);
    if (known == by_departure.end()) {
      Clear(rule);
    } else if (std::exchange(known->second->kept.wire_port, port) != port) {
      ++revision_;
    }
  }
  for (auto& [number, connection] : connections_) {
    KeptConnection& kept = connection.kept;
    if (kept.inode == 0 || kept.wire_port == kept.socket_port || installed.contains(DepartureOf(connection))) continue;
    kept.wire_port = kept.socket_port;
    ++revision_;
  }
  for (auto& [number, alias] : aliases_) {
    for (const uint16_t port : alias.kept.wire_ports) {
      const RewriteRule rule = ArrivalOf(alias.kept, port);
      if (!arrivals_.try_emplace(rule, number).second) continue;
      if (IsInherited(rule, alias.kept.socket_port)) alias.installed.insert(port);
      Set(++num_tickets_, rule, alias.kept.socket_port);
    }
  }
}

// ---- Sockets ----

void HostAgent::Take(const SocketsSeen& event) {
  seen_.clear();
  for (const SeenSocket& socket : event.sockets) seen_.emplace(socket.ends, socket.inode);
  LookAtConnections(event);
  CountBytes(event.asked_at, event.sockets);
  LookAtAccepted(event);
  LookAtAliases(event);
  LookForOwners(event);
}

void HostAgent::LookAtConnections(const SocketsSeen& event) {
  std::unordered_map<uint64_t, const SeenSocket*> by_inode;
  for (const SeenSocket& socket : event.sockets) {
    if (socket.inode != 0) by_inode.emplace(socket.inode, &socket);
  }
  std::vector<uint64_t> gone;
  for (auto& [number, connection] : connections_) {
    const KeptConnection& kept = connection.kept;
    if (kept.inode == 0) continue;
    if (connection.stage == Stage::kUnclear) {
      const auto found = by_inode.find(kept.inode);
      const bool is_it = found != by_inode.end() && found->second->ends.remote == kept.wanted.destination &&
                         found->second->ends.remote_port == kept.wanted.destination_port;
      if (is_it) {
        Open(&connection, found->second->ends.local_port);
      } else if (connection.since + kUnclearFor < event.asked_at) {
        gone.push_back(number);
      }
    }
    if (connection.stage != Stage::kOpen) continue;
    // The same ports may be those of a later connection already.
    const auto found = seen_.find(EndsOf(kept));
    const bool is_there = found != seen_.end() && (found->second == 0 || found->second == kept.inode);
    if (!is_there && connection.since < event.asked_at) gone.push_back(number);
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

void HostAgent::LookAtAccepted(const SocketsSeen& event) {
  std::unordered_map<uint64_t, const SeenSocket*> by_inode;
  for (const SeenSocket& socket : event.sockets) by_inode.emplace(socket.inode, &socket);
  for (auto entry = accepted_.begin(); entry != accepted_.end();) {
    const auto& [inode, accepted] = *entry;
    const auto found = by_inode.find(inode);
    const bool is_gone = found == by_inode.end() && accepted.since < event.asked_at;
    const bool becomes_sender = found != by_inode.end() && Sends(*found->second) && MaySteer(found->second->ends);
    if (becomes_sender) HoldAccepted(accepted, found->second->ends);
    if (is_gone || becomes_sender) {
      ++revision_;
    } else {
      Classify(inode, &entry->second);
    }
    entry = is_gone || becomes_sender ? accepted_.erase(entry) : std::next(entry);
  }
}

bool HostAgent::MaySteer(const SocketPair& ends) const {
  return IsNic(ends.local) && !IsNic(ends.remote) && !IsStranger(ends.remote) &&
         connections_.size() < options_.num_connections_max;
}

void HostAgent::HoldAccepted(const Accepted& accepted, const SocketPair& ends) {
  Connection connection;
  connection.kept.job = accepted.kept.job;
  connection.kept.wanted = {
      .source = ends.local, .destination = ends.remote, .protocol = 6, .destination_port = ends.remote_port};
  connection.kept.pid = accepted.kept.pid;
  connection.kept.inode = accepted.kept.inode;
  connection.traffic_class = accepted.traffic_class;
  Open(&Hold(std::move(connection)), ends.local_port);
}

void HostAgent::LookAtAliases(const SocketsSeen& event) {
  std::vector<uint64_t> gone;
  for (auto& [number, alias] : aliases_) {
    if (seen_.contains(EndsOf(alias.kept, alias.kept.socket_port))) {
      alias.seen_at = event.asked_at;
      alias.was_seen = true;
    } else if (alias.was_seen || alias.seen_at + kUnseenFor < event.asked_at) {
      gone.push_back(number);
    }
  }
  for (const uint64_t number : gone) DropAlias(number);
}

void HostAgent::LookForOwners(const SocketsSeen& event) {
  std::unordered_set<uint64_t> asked;
  for (const auto& [number, connection] : connections_) asked.insert(connection.kept.inode);
  std::map<uint64_t, bool> unasked;
  std::vector<uint64_t> wanted;
  const bool may_look = !owners_wanted_at_.has_value() && next_look_for_owners_ <= now_;
  for (const SeenSocket& socket : event.sockets) {
    const bool is_unasked = socket.inode != 0 && MaySteer(socket.ends) && !asked.contains(socket.inode) &&
                            !accepted_.contains(socket.inode);
    if (!is_unasked) continue;
    const bool is_new = !unasked_.contains(socket.inode);
    if (is_new && may_look) wanted.push_back(socket.inode);
    if (!is_new || may_look) unasked[socket.inode] = !socket.ends.local.is_ipv4();
  }
  unasked_ = std::move(unasked);
  if (wanted.empty()) return;
  owners_wanted_at_ = now_;
  Act(FindOwners{std::move(wanted)});
}

void HostAgent::Take(const OwnersFound& event) {
  if (!owners_wanted_at_.has_value()) return;
  next_look_for_owners_ = now_ + std::max(kShortestRest, (now_ - *owners_wanted_at_) * kRestFactor);
  owners_wanted_at_.reset();
  std::map<std::string, size_t> taken;
  for (const SocketOwner& owner : event.owners) {
    const auto socket = unasked_.find(owner.inode);
    const bool is_free = socket != unasked_.end() && accepted_.size() < options_.num_connections_max;
    if (!is_free || !shm::IsProcessJobName(owner.job)) continue;
    const KeptAccepted kept = {.job = owner.job, .pid = owner.pid, .inode = owner.inode, .is_ipv6 = socket->second};
    const auto traffic_class = ClassOf(owner.job);
    if (!accepted_.try_emplace(owner.inode, Accepted{kept, now_, traffic_class}).second) continue;
    ++revision_;
    ++taken[owner.job];
    if (!traffic_class.has_value()) continue;
    Act(SetSocketClass{.pid = kept.pid, .inode = kept.inode, .is_ipv6 = kept.is_ipv6, .traffic_class = *traffic_class});
  }
  for (const auto& [job, count] : taken) {
    Note("sockets of job " + job + " that no agent was asked about, now looked after: " + std::to_string(count));
  }
}

}  // namespace fairlead::agent
