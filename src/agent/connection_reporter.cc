#include "agent/connection_reporter.h"

namespace fairlead::agent {

void ConnectionReporter::Ask(const Connection& connection) {
  const KeptConnection& kept = connection.kept;
  ended_away_.erase(kept.job);
  if (outbox_.is_welcome()) asked_.insert(connection.number());
  outbox_.Send(controller::PathsWanted{.request = ++num_requests_, .job = kept.job, .connections = {kept.wanted}});
}

void ConnectionReporter::AskAgain() {
  for (const auto& [job, numbers] : connections_.jobs()) {
    controller::PathsWanted wanted{.request = 0, .job = job, .connections = {}};
    for (const uint64_t number : numbers) {
      const KeptConnection& kept = connections_.at(number).kept;
      if (!kept.is_answered && asked_.insert(number).second) wanted.connections.push_back(kept.wanted);
    }
    if (wanted.connections.empty()) continue;
    wanted.request = ++num_requests_;
    outbox_.Send(std::move(wanted));
  }
}

void ConnectionReporter::ReportOpened(const Connection& connection) {
  if (!connection.kept.is_answered || connection.stage != Connection::Stage::kOpen) return;
  if (keeps_state_) {
    unsent_.emplace_back(outbox_.revision(), connection.number());
  } else if (connection.kept.wire_port == connection.kept.socket_port) {
    SendOpened(connection);
  } else {
    Announce(connection.kept.job, {connection.number()});
  }
}

void ConnectionReporter::TakeKept(uint64_t revision) {
  std::set<std::string> rewritten;  // jobs with connections whose wire shows another port than the socket has
  for (; !unsent_.empty() && unsent_.front().first <= revision; unsent_.pop_front()) {
    const Connection* connection = connections_.Find(unsent_.front().second);
    if (connection == nullptr) continue;
    if (connection->kept.wire_port == connection->kept.socket_port) {
      SendOpened(*connection);
    } else {
      rewritten.insert(connection->kept.job);  // of a state that is older than the kernel's rules
    }
  }
  for (const std::string& job : rewritten) Announce(job, connections_.jobs().at(job));
}

void ConnectionReporter::SendOpened(const Connection& connection) {
  outbox_.Send(controller::ConnectionOpened{
      .job = connection.kept.job, .connection = connection.number(), .socket_port = connection.kept.socket_port});
}

void ConnectionReporter::Announce() {
  for (const auto& [job, numbers] : connections_.jobs()) Announce(job, numbers);
  outbox_.Send(controller::AnnouncementFinished{});
  AskAgain();
}

void ConnectionReporter::Announce(const std::string& job, const std::set<uint64_t>& numbers) {
  controller::ConnectionsHeld held{.job = job, .connections = {}};
  for (const uint64_t number : numbers) {
    const KeptConnection& kept = connections_.at(number).kept;
    if (!kept.is_answered && !asked_.contains(number)) continue;
    // Only what is in force: a port that the wire does not show is none.
    const bool has_planned = kept.wire_port == 0 || kept.wire_port == kept.answer.port;
    const uint16_t moved_to = kept.wire_port == kept.socket_port ? uint16_t{0} : kept.wire_port;
    const traffic::HeldPath path = {
        .is_managed = kept.is_answered && kept.answer.kind != traffic::QueuePairAnswer::Kind::kUnmanaged,
        .plane = kept.answer.plane,
        .path = kept.answer.path,
        .port = has_planned ? kept.answer.port : moved_to};
    held.connections.push_back({.wanted = kept.wanted, .queue_pairs = {path}, .socket_ports = {kept.socket_port}});
  }
  if (!held.connections.empty()) outbox_.Send(std::move(held));
}

void ConnectionReporter::ReportClosed(const std::string& job, std::vector<uint64_t> connections) {
  outbox_.Send(controller::ConnectionsClosed{.job = job, .connections = std::move(connections)});
}

void ConnectionReporter::ReportEnded() {
  for (const std::string& job : ended_away_) {
    outbox_.Send(controller::ConnectionsClosed{.job = job, .connections = {}});
  }
  ended_away_.clear();
}

}  // namespace fairlead::agent
