// Questions of processes, and what becomes of their connections.
#include "agent/host_agent.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "model/job_identity.h"

namespace fairlead::agent {

namespace {

using traffic::QueuePairAnswer;

constexpr uint64_t kNumberMask = (uint64_t{1} << 53) - 1;

}  // namespace

HostAgent::HostAgent(const HostAgentOptions& options, const AgentState& kept, SimTime now,
                     const std::map<RewriteRule, uint16_t>& installed)
    : options_(options),
      random_(options.random_seed),
      outbox_(now),
      addresses_(options.nics, options.stranger_memory),
      orders_(&outbox_),
      resting_(options.port_rest, options.num_connections_max),
      levels_(kept.levels),
      arrivals_({.nics = options.nics, .linger = options.arrival_linger, .num_max = options.num_connections_max},
                &outbox_, &orders_),
      accepted_(options.num_connections_max, &levels_, &outbox_),
      stream_({.host = options.host, .agent_version = options.version, .nics = options.nics}, &outbox_),
      probes_(options.probes, &addresses_, &outbox_),
      meter_(options.meter) {
  for (const KeptConnection& connection : kept.connections) {
    const uint64_t number = connection.wanted.connection;
    const auto [entry, is_new] = connections_.try_emplace(number);
    if (!is_new) continue;
    entry->second.kept = connection;
    entry->second.since = now;
    jobs_[connection.job].insert(number);
    if (connection.inode != 0) by_socket_[{connection.pid, connection.inode}] = number;
  }
  accepted_.Restore(kept.accepted);
  resting_.Restore(kept.rests, now);
  RestoreRewriting(installed);
  arrivals_.Restore(kept.aliases);
}

std::vector<HostAction> HostAgent::Handle(SimTime now, std::span<const HostEvent> events) {
  outbox_.SetTime(now);
  for (const HostEvent& event : events) {
    std::visit([this](const auto& one) { Take(one); }, event);
  }
  TakeTime();
  probes_.SendDue();
  return outbox_.TakeActions();
}

void HostAgent::TakeTime() {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now()) {
    const uint64_t number = deadlines_.begin()->second;
    deadlines_.erase(deadlines_.begin());
    const auto found = connections_.find(number);
    if (found != connections_.end() && found->second.stage == Stage::kAsked) AnswerLate(&found->second);
  }
  if (stream_.IsHeartbeatDue()) {
    stream_.SendHeartbeat(NumLeases());
    AskAgain();
  }
  arrivals_.DropOldPorts();
  if (resting_.EndAt(now())) outbox_.Change();
  orders_.Repeat();
  for (controller::JobMeasured& measured : meter_.Report(now())) Send(std::move(measured));
}

SimTime HostAgent::NextDue() const {
  SimTime due = std::min(probes_.NextDue(), meter_.NextDue());
  if (!deadlines_.empty()) due = std::min(due, deadlines_.begin()->first);
  return std::min({due, stream_.NextDue(), arrivals_.NextDue(), orders_.NextDue()});
}

// Jobs of which the controller knows something here.
uint32_t HostAgent::NumLeases() const {
  return static_cast<uint32_t>(std::count_if(jobs_.begin(), jobs_.end(), [this](const auto& job) {
    return std::any_of(job.second.begin(), job.second.end(),
                       [this](uint64_t number) { return connections_.at(number).kept.is_answered; });
  }));
}

AgentState HostAgent::State() const {
  AgentState state;
  for (const auto& [number, connection] : connections_) {
    if (connection.stage == Stage::kOpen) state.connections.push_back(connection.kept);
  }
  state.aliases = arrivals_.State();
  state.accepted = accepted_.State();
  state.rests = resting_.State();
  state.levels = levels_;
  return state;
}

void HostAgent::AnswerLeave(QuestionId question) { Act(AnswerProcess{.question = question}); }

void HostAgent::Take(const PathRequested& event) {
  const bool is_known = questions_.contains(event.question);
  const bool is_ours = model::IsJobKey(event.job) && addresses_.AreTraining(event.source, event.destination) &&
                       !event.destination.is_unset() && event.destination_port != 0;
  if (is_known) return;  // the shell's numbers differ; a second answer would be worse than none
  if (is_ours && event.kind == QuestionKind::kAccept) return TakeAccepted(event);
  if (!is_ours || addresses_.IsStranger(event.destination, now()) ||
      connections_.size() >= options_.num_connections_max) {
    return AnswerLeave(event.question);
  }
  Begin(event);
}

void HostAgent::TakeAccepted(const PathRequested& event) {
  const auto traffic_class = ClassOf(levels_, event.job);
  accepted_.Add({.job = event.job, .pid = event.pid, .inode = event.inode, .is_ipv6 = !event.source.is_ipv4()});
  if (!traffic_class.has_value()) return AnswerLeave(event.question);
  Act(AnswerProcess{.question = event.question, .leave = false, .sets_class = true, .traffic_class = *traffic_class});
}

uint64_t HostAgent::NewNumber() {
  for (;;) {
    const uint64_t number = random_() & kNumberMask;
    if (number != 0 && !connections_.contains(number)) return number;
  }
}

void HostAgent::Begin(const PathRequested& event) {
  if (event.inode != 0) {
    // Its socket is used again: what it was before has ended.
    const auto before = by_socket_.find({event.pid, event.inode});
    if (before != by_socket_.end()) Close(before->second);
    accepted_.Remove(event.inode);
  }
  Connection connection;
  connection.kept.job = event.job;
  connection.kept.wanted = {.source = event.source,
                            .destination = event.destination,
                            .protocol = static_cast<uint8_t>(event.kind == QuestionKind::kQueuePair ? 17 : 6),
                            .destination_port = event.destination_port};
  connection.kept.pid = event.pid;
  connection.kept.inode = event.inode;
  connection.stage = Stage::kAsked;
  connection.question = event.question;
  Connection& held = Hold(std::move(connection));
  const uint64_t number = held.kept.wanted.connection;
  questions_[event.question] = number;
  if (!stream_.is_listening()) return Answer(&held, 0);
  const bool is_queue_pair = event.kind == QuestionKind::kQueuePair;
  deadlines_.insert({now() + (is_queue_pair ? options_.queue_pair_deadline : options_.answer_deadline), number});
}

HostAgent::Connection& HostAgent::Hold(Connection connection) {
  const uint64_t number = NewNumber();
  connection.kept.wanted.connection = number;
  connection.since = now();
  connection.is_asked = is_welcome();
  Connection& held = connections_.emplace(number, std::move(connection)).first->second;
  const KeptConnection& kept = held.kept;
  jobs_[kept.job].insert(number);
  ended_away_.erase(kept.job);
  if (kept.inode != 0) by_socket_[{kept.pid, kept.inode}] = number;
  Send(controller::PathsWanted{.request = ++num_requests_, .job = kept.job, .connections = {kept.wanted}});
  return held;
}

void HostAgent::AnswerLate(Connection* connection) {
  // During the search for a port the controller has already answered; a connection that it has not mentioned is
  // unanswered.
  if (!connection->kept.is_answered) stream_.MissDeadline();
  Answer(connection, 0);
}

void HostAgent::Answer(Connection* connection, uint16_t port) {
  connection->stage = Stage::kAnswered;
  connection->since = now();
  connection->traffic_class = ClassOf(levels_, connection->kept.job);
  Act(AnswerProcess{.question = connection->question,
                    .leave = false,
                    .source_port = port,
                    .sets_class = connection->traffic_class.has_value(),
                    .traffic_class = connection->traffic_class.value_or(0)});
}

void HostAgent::AnswerByPlan(Connection* connection) {
  const QueuePairAnswer& plan = connection->kept.answer;
  if (connection->stage != Stage::kAsked || plan.kind == QueuePairAnswer::Kind::kScan) return;
  const bool has_port = plan.kind == QueuePairAnswer::Kind::kUse && !IsPortTaken(*connection, plan.port);
  Answer(connection, has_port ? plan.port : 0);
}

void HostAgent::Take(const PathRequestOutcome& event) {
  const auto question = questions_.find(event.question);
  if (question == questions_.end()) return;
  Connection& connection = connections_.at(question->second);
  if (connection.stage != Stage::kAnswered) return;
  const bool is_open = (event.error == 0 || event.error == EINPROGRESS) && event.source_port != 0;
  if (is_open) {
    Open(&connection, event.source_port);
  } else {
    Close(connection.kept.wanted.connection);
  }
}

void HostAgent::Take(const ProcessLeft& event) {
  const auto question = questions_.find(event.question);
  if (question == questions_.end()) return;
  Connection& connection = connections_.at(question->second);
  questions_.erase(question);
  connection.question = 0;
  if (connection.stage == Stage::kOpen) return;
  if (connection.kept.inode == 0) return Close(connection.kept.wanted.connection);
  connection.stage = Stage::kUnclear;
  connection.since = now();
  connection.traffic_class.reset();  // it may not have waited for it
}

void HostAgent::Open(Connection* connection, uint16_t port) {
  connection->stage = Stage::kOpen;
  connection->since = now();
  connection->kept.socket_port = port;
  connection->kept.wire_port = port;
  outbox_.Change();
  if (connection->kept.is_answered) SendOpened(*connection);
  ClassifySocket(connection);  // the level may have changed while it was being opened
}

void HostAgent::Close(uint64_t number) { CloseAll({number}); }

void HostAgent::CloseAll(const std::vector<uint64_t>& numbers) {
  std::map<std::string, std::vector<uint64_t>> closed;
  for (const uint64_t number : numbers) {
    const auto found = connections_.find(number);
    if (found == connections_.end()) continue;
    const Connection& connection = found->second;
    const KeptConnection& kept = connection.kept;
    if (connection.question != 0) {
      if (connection.stage == Stage::kAsked) AnswerLeave(connection.question);
      questions_.erase(connection.question);
    }
    if (kept.wire_port != kept.socket_port || connection.ticket != 0) {
      orders_.Clear(DepartureOf(connection));
      RestPort(connection, kept.wire_port);
      RestPort(connection, connection.next_wire_port);
    }
    departure_tickets_.erase(connection.ticket);
    const auto by_socket = by_socket_.find({kept.pid, kept.inode});
    if (by_socket != by_socket_.end() && by_socket->second == number) by_socket_.erase(by_socket);
    const auto job = jobs_.find(kept.job);
    job->second.erase(number);
    if (job->second.empty()) {
      meter_.AddBytes(now(), kept.job, {});
      if (is_welcome()) {
        ForgetLevel(kept.job);
      } else {
        ended_away_.insert(kept.job);
      }
      jobs_.erase(job);
    }
    closed[kept.job].push_back(number);
    connections_.erase(found);
    outbox_.Change();
  }
  for (auto& [job, gone] : closed) Send(controller::ConnectionsClosed{.job = job, .connections = std::move(gone)});
}

void HostAgent::Take(const ProcessEnded& event) {
  std::vector<uint64_t> gone;
  for (const auto& [number, connection] : connections_) {
    // Sockets may live on in a child, and are looked at by themselves.
    if (connection.kept.pid == event.pid && connection.kept.inode == 0) gone.push_back(number);
  }
  CloseAll(gone);
}

}  // namespace fairlead::agent
