#include "agent/departure_moves.h"

#include <utility>

namespace fairlead::agent {

namespace {

RewriteRule DepartureOf(const KeptConnection& kept) {
  return {.direction = RewriteRule::Direction::kDeparture,
          .source = kept.wanted.source,
          .destination = kept.wanted.destination,
          .from_port = kept.socket_port,
          .destination_port = kept.wanted.destination_port};
}

bool GoToTheSamePlace(const controller::WantedConnection& a, const controller::WantedConnection& b) {
  return a.destination == b.destination && a.destination_port == b.destination_port && a.source == b.source &&
         a.protocol == b.protocol;
}

}  // namespace

// The kernel may have kept the rules of the agent before us, or not. Those that it has are in force, whatever the state
// says, and no others: after a boot the ports may be those of a later connection. A departure of an unknown connection
// is removed, which is always safe: its packets then have the socket's port.
void DepartureMoves::Restore(const std::vector<KeptRest>& rests, const std::map<RewriteRule, uint16_t>& installed) {
  resting_.Restore(rests, outbox_.now());
  std::map<RewriteRule, uint64_t> by_departure;
  for (const auto& [number, connection] : connections_.connections()) {
    by_departure.emplace(DepartureOf(connection.kept), number);
  }
  for (const auto& [rule, port] : installed) {
    if (rule.direction != RewriteRule::Direction::kDeparture) continue;
    const auto known = by_departure.find(rule);
    if (known == by_departure.end()) {
      orders_.Clear(rule, port);
    } else if (connections_.at(known->second).kept.wire_port != port) {
      connections_.SetWirePort(known->second, port);
    }
  }
  for (const auto& [number, connection] : connections_.connections()) {
    const KeptConnection& kept = connection.kept;
    if (kept.inode == 0 || kept.wire_port == kept.socket_port || installed.contains(DepartureOf(kept))) continue;
    connections_.SetWirePort(number, kept.socket_port);
  }
}

bool DepartureMoves::IsPortTaken(const Connection& connection, uint16_t port) const {
  const controller::WantedConnection& wanted = connection.kept.wanted;
  for (const auto& [number, other] : connections_.connections()) {
    if (&other == &connection || !GoToTheSamePlace(other.kept.wanted, wanted)) continue;
    if (other.kept.socket_port == port || other.kept.wire_port == port) return true;
    const auto move = moves_.find(number);
    if (move != moves_.end() && move->second.port == port) return true;
  }
  return connection.is_tcp() &&
         resting_.IsTaken({wanted.source, wanted.destination, port, wanted.destination_port}, wanted.connection);
}

void DepartureMoves::RestPort(const Connection& connection, uint16_t port) {
  const controller::WantedConnection& wanted = connection.kept.wanted;
  if (port == 0 || port == connection.kept.socket_port || !connection.is_tcp()) return;
  const SocketPair ends = {wanted.source, wanted.destination, port, wanted.destination_port};
  if (resting_.Add(ends, wanted.connection, outbox_.now())) outbox_.Change();
}

void DepartureMoves::Move(const Connection& connection, uint16_t port) {
  const KeptConnection& kept = connection.kept;
  const auto before = moves_.find(connection.number());
  if (port == (before != moves_.end() ? before->second.port : kept.wire_port)) return;
  if (!connection.is_tcp()) {
    return Refuse(connection, port, "a queue pair of RoCE can't be moved from outside of its process");
  }
  if (IsPortTaken(connection, port)) {
    return Refuse(connection, port, "another connection to the same place has the port");
  }
  if (before != moves_.end()) by_ticket_.erase(before->second.ticket);
  const RewriteRule departure = DepartureOf(kept);
  const uint64_t ticket = port == kept.socket_port ? orders_.ClearOnce(departure) : orders_.Set(departure, port);
  moves_[connection.number()] = {.ticket = ticket, .port = port};
  by_ticket_[ticket] = connection.number();
}

void DepartureMoves::Refuse(const Connection& connection, uint16_t port, const std::string& why) {
  const KeptConnection& kept = connection.kept;
  RestPort(connection, port);  // its destination is prepared for it
  outbox_.Note("a connection of job " + kept.job + " stays on port " + std::to_string(kept.wire_port) + ": " + why);
  outbox_.Send(controller::MoveRefused{.job = kept.job,
                                       .connection = kept.wanted.connection,
                                       .queue_pair = 0,
                                       .port = port,
                                       .wire_port = kept.wire_port,
                                       .reason = why});
}

bool DepartureMoves::Finish(const RewriteDone& done) {
  const auto order = by_ticket_.extract(done.ticket);
  if (order.empty()) return false;
  const uint64_t number = order.mapped();
  const uint16_t port = moves_.extract(number).mapped().port;
  const Connection& connection = connections_.at(number);
  if (!done.error.empty()) {
    Refuse(connection, port, done.error);
  } else {
    RestPort(connection, connection.kept.wire_port);
    connections_.SetWirePort(number, port);
  }
  return true;
}

bool DepartureMoves::TakeUp(const Connection& connection) {
  if (!connection.is_tcp()) return false;
  const auto port = orders_.TakeUp(DepartureOf(connection.kept));
  if (!port.has_value()) return false;
  connections_.SetWirePort(connection.number(), *port);
  return true;
}

const DepartureMoves::Connection* DepartureMoves::TakeUp(const RewriteRule& rule) {
  for (const auto& [number, connection] : connections_.connections()) {
    const bool is_its = connection.has_open_socket() && connection.is_tcp() && DepartureOf(connection.kept) == rule;
    if (is_its && TakeUp(connection)) return &connection;
  }
  return nullptr;
}

void DepartureMoves::Close(const Connection& connection) {
  const KeptConnection& kept = connection.kept;
  const auto move = moves_.extract(connection.number());
  if (kept.wire_port == kept.socket_port && move.empty()) return;
  // Where a move was under way, either port may be on the wire.
  orders_.Clear(DepartureOf(kept), move.empty() ? kept.wire_port : uint16_t{0});
  RestPort(connection, kept.wire_port);
  if (move.empty()) return;
  RestPort(connection, move.mapped().port);
  by_ticket_.erase(move.mapped().ticket);
}

void DepartureMoves::EndRests() {
  if (resting_.EndAt(outbox_.now())) outbox_.Change();
}

}  // namespace fairlead::agent
