// The stream to the controller: messages sent and received.
#include <algorithm>
#include <utility>

#include "agent/host_agent.h"

namespace fairlead::agent {

namespace {

using traffic::QueuePairAnswer;

constexpr size_t kNumLevelsMax = 65'536;
constexpr uint32_t kNumLevels = 8;

}  // namespace

void HostAgent::Take(const StreamBroken&) {
  arrivals_.ForgetAnswers();
  stream_.Break();
  probes_.Forget();
  deadlines_.clear();
  for (auto& [number, connection] : connections_) {
    connection.is_asked = false;
    if (connection.stage == Stage::kAsked) Answer(&connection, 0);
  }
}

void HostAgent::Take(const MessageFromController& event) {
  if (!stream_.HearMessage()) return;
  std::visit([this](const auto& message) { Hear(message); }, event.message);
}

void HostAgent::Hear(const controller::Welcome& message) {
  if (!stream_.Hear(message)) return;
  for (const std::string& job : ended_away_) Send(controller::ConnectionsClosed{.job = job, .connections = {}});
  ended_away_.clear();
}

void HostAgent::Hear(const controller::AnnouncementWanted&) {
  for (const auto& [job, numbers] : jobs_) Announce(job);
  Send(controller::AnnouncementFinished{});
  AskAgain();
}

// Everything about the job that the controller has, or should have, been sent.
void HostAgent::Announce(const std::string& job) {
  const auto numbers = jobs_.find(job);
  if (numbers == jobs_.end()) return;
  controller::ConnectionsHeld held{.job = job, .connections = {}};
  for (const uint64_t number : numbers->second) {
    const Connection& connection = connections_.at(number);
    const KeptConnection& kept = connection.kept;
    if (!kept.is_answered && !connection.is_asked) continue;
    // Only what is in force: a port that the wire does not show is none.
    const bool has_planned = kept.wire_port == 0 || kept.wire_port == kept.answer.port;
    const uint16_t moved_to = kept.wire_port == kept.socket_port ? uint16_t{0} : kept.wire_port;
    const traffic::HeldPath path = {
        .is_managed = kept.is_answered && kept.answer.kind != QueuePairAnswer::Kind::kUnmanaged,
        .plane = kept.answer.plane,
        .path = kept.answer.path,
        .port = has_planned ? kept.answer.port : moved_to};
    held.connections.push_back({.wanted = kept.wanted, .queue_pairs = {path}, .socket_ports = {kept.socket_port}});
  }
  if (!held.connections.empty()) Send(std::move(held));
}

void HostAgent::AskAgain() {
  for (const auto& [job, numbers] : jobs_) {
    controller::PathsWanted wanted{.request = 0, .job = job, .connections = {}};
    for (const uint64_t number : numbers) {
      Connection& connection = connections_.at(number);
      if (connection.kept.is_answered || connection.is_asked) continue;
      connection.is_asked = true;
      wanted.connections.push_back(connection.kept.wanted);
    }
    if (wanted.connections.empty()) continue;
    wanted.request = ++num_requests_;
    Send(std::move(wanted));
  }
}

void HostAgent::SendOpened(const Connection& connection) {
  if (options_.keeps_state) {
    unsent_opened_.emplace_back(revision(), connection.kept.wanted.connection);
  } else {
    SendHeld(connection);
  }
}

void HostAgent::Take(const StateKept& event) {
  std::set<std::string> rewritten;  // jobs with connections whose wire shows another port than the socket has
  for (; !unsent_opened_.empty() && unsent_opened_.front().first <= event.revision; unsent_opened_.pop_front()) {
    const auto found = connections_.find(unsent_opened_.front().second);
    if (found == connections_.end()) continue;
    const KeptConnection& kept = found->second.kept;
    if (kept.wire_port == kept.socket_port) {
      SendHeld(found->second);
    } else {
      rewritten.insert(kept.job);  // of a state that is older than the kernel's rules
    }
  }
  for (const std::string& job : rewritten) Announce(job);
}

void HostAgent::SendHeld(const Connection& connection) {
  Send(controller::ConnectionOpened{.job = connection.kept.job,
                                    .connection = connection.kept.wanted.connection,
                                    .socket_port = connection.kept.socket_port});
}

void HostAgent::TakePlan(Connection* connection, const traffic::QueuePairAnswer& plan) {
  const bool is_first = !std::exchange(connection->kept.is_answered, true);
  connection->kept.answer = plan;
  outbox_.Change();
  if (is_first && connection->stage == Stage::kOpen) SendOpened(*connection);
  AnswerByPlan(connection);
}

void HostAgent::Hear(const controller::PathsAnswered& message) {
  if (!message.connections.empty() && jobs_.contains(message.job)) SetLevel(message.job, message.level);
  for (const traffic::ConnectionAnswer& answer : message.connections) HearAnswer(message, answer);
}

void HostAgent::HearAnswer(const controller::PathsAnswered& message, const traffic::ConnectionAnswer& answer) {
  const auto found = connections_.find(answer.connection);
  if (found == connections_.end() || found->second.kept.job != message.job) return;
  Connection& connection = found->second;
  if (answer.queue_pairs.empty() && !connection.kept.is_answered) {
    // No connection of training, the controller says: as if it had never been asked for.
    const IpAddress destination = connection.kept.wanted.destination;
    addresses_.AddStranger(destination, now());
    if (connection.question != 0) Note(destination.ToString() + " is left alone: " + answer.reason);
    return Close(answer.connection);
  }
  if (answer.queue_pairs.size() != 1) return;
  TakePlan(&connection, answer.queue_pairs.front());
}

void HostAgent::Hear(const controller::PathsChanged& message) {
  for (const controller::QueuePairChanged& change : message.changes) HearChange(change);
}

void HostAgent::HearChange(const controller::QueuePairChanged& change) {
  const auto found = connections_.find(change.connection);
  if (found == connections_.end()) {
    Send(controller::ConnectionsClosed{.job = change.job, .connections = {change.connection}});
    return;
  }
  Connection& connection = found->second;
  if (connection.kept.job != change.job || change.queue_pair != 0) return;
  TakePlan(&connection, change.answer);
  const bool has_port = change.answer.kind == QueuePairAnswer::Kind::kUse && change.answer.port != 0;
  if (!has_port || !change.is_prepared) return;
  if (connection.stage == Stage::kOpen) return Move(&connection, change.answer.port);
  if (connection.kept.wanted.protocol == 6) RefuseMove(connection, change.answer.port, "its socket is not known yet");
}

void HostAgent::Hear(const controller::LevelSet& message) {
  const bool is_known = levels_.contains(message.job) || jobs_.contains(message.job);
  if (message.level >= kNumLevels || (!is_known && levels_.size() >= kNumLevelsMax)) return;
  SetLevel(message.job, message.level);
}

void HostAgent::Take(const SegmentsSeen& event) {
  for (controller::ProcessesSeen& seen : reporter_.Report(event, is_welcome())) Send(std::move(seen));
  for (std::string& note : reporter_.TakeNotes()) Note(std::move(note));
}

}  // namespace fairlead::agent
