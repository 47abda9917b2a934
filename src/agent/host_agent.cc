#include "agent/host_agent.h"

#include <algorithm>
#include <cerrno>
#include <unordered_set>
#include <utility>
#include <variant>

#include "model/job_identity.h"

namespace fairlead::agent {

namespace {

using traffic::QueuePairAnswer;

// How long to wait for the socket of a connection whose process went silently.
constexpr SimDuration kUnclearFor(1'000'000'000);

}  // namespace

HostAgent::HostAgent(const HostAgentOptions& options, const AgentState& kept, SimTime now,
                     const std::map<RewriteRule, uint16_t>& installed)
    : outbox_(now),
      orders_(&outbox_),
      addresses_(options.nics, options.stranger_memory),
      connections_(options.num_connections_max, options.random_seed, &outbox_),
      questions_(options.answer_deadline, options.queue_pair_deadline, &outbox_),
      stream_({.host = options.host, .agent_version = options.version, .nics = options.nics, .can_test = true},
              &outbox_),
      connection_reporter_(options.keeps_state, &connections_, &outbox_),
      departures_({.port_rest = options.port_rest, .num_rests_max = options.num_connections_max}, &connections_,
                  &orders_, &outbox_),
      classes_(kept.levels, &connections_, &outbox_),
      arrivals_({.nics = options.nics, .linger = options.arrival_linger, .num_max = options.num_connections_max},
                &outbox_, &orders_),
      accepted_(options.num_connections_max, &classes_.levels(), &outbox_),
      probes_(options.probes, &addresses_, &outbox_),
      meter_(options.meter),
      tests_(&addresses_, &outbox_) {
  connections_.Restore(kept.connections);
  accepted_.Restore(kept.accepted);
  for (const auto& [rule, port] : installed) {
    if (rule.direction == RewriteRule::Direction::kArrival) orders_.Inherit(rule, port);
  }
  departures_.Restore(kept.rests, installed);
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
  while (const auto number = questions_.TakeOverdue()) {
    const Connection& connection = connections_.at(*number);
    // During the search for a port the controller has already answered; a connection that it has not mentioned is
    // unanswered.
    if (!connection.kept.is_answered) stream_.MissDeadline();
    Answer(connection, 0);
  }
  if (stream_.IsHeartbeatDue()) {
    stream_.SendHeartbeat({.num_leases = connections_.NumAnsweredJobs(),
                           .sees_slurm = slurm_jobs_.has_value(),
                           .slurm_jobs = slurm_jobs_.value_or(std::vector<uint32_t>())});
    connection_reporter_.AskAgain();
  }
  arrivals_.DropOldPorts();
  departures_.EndRests();
  orders_.Repeat();
  for (controller::JobMeasured& measured : meter_.Report(now())) outbox_.Send(std::move(measured));
}

SimTime HostAgent::NextDue() const {
  return std::min({questions_.NextDue(), stream_.NextDue(), arrivals_.NextDue(), orders_.NextDue(), probes_.NextDue(),
                   meter_.NextDue()});
}

AgentState HostAgent::State() const {
  return {.connections = connections_.State(),
          .aliases = arrivals_.State(),
          .accepted = accepted_.State(),
          .rests = departures_.State(),
          .levels = classes_.levels()};
}

// ---- Questions of processes ----

void HostAgent::Take(const PathRequested& event) {
  if (questions_.IsKnown(event.question))
    return;  // the shell's numbers differ; a second answer would be worse than none
  const bool is_ours = model::IsJobKey(event.job) && addresses_.AreTraining(event.source, event.destination) &&
                       !event.destination.is_unset() && event.destination_port != 0;
  if (is_ours && event.kind == QuestionKind::kAccept) {
    accepted_.Add({.job = event.job, .pid = event.pid, .inode = event.inode, .is_ipv6 = !event.source.is_ipv4()});
    return questions_.Dismiss(event.question, ClassOf(classes_.levels(), event.job));
  }
  if (!is_ours || addresses_.IsStranger(event.destination, now()) || connections_.is_full()) {
    return questions_.Dismiss(event.question);
  }
  Begin(event);
}

void HostAgent::Begin(const PathRequested& event) {
  if (event.inode != 0) {
    // Its socket is used again: what it was before has ended.
    const Connection* before = connections_.FindSocket(event.pid, event.inode);
    if (before != nullptr) Close(before->number());
    accepted_.Remove(event.inode);
  }
  const Connection& connection =
      Hold({.job = event.job,
            .wanted = {.source = event.source,
                       .destination = event.destination,
                       .protocol = static_cast<uint8_t>(event.kind == QuestionKind::kQueuePair ? 17 : 6),
                       .destination_port = event.destination_port,
                       .pid = event.pid},
            .inode = event.inode,
            .answer = {}});
  questions_.Begin(event.question, connection.number());
  if (!stream_.is_listening()) return Answer(connection, 0);
  questions_.SetDeadline(connection.number(), event.kind);
}

void HostAgent::Answer(const Connection& connection, uint16_t port) {
  questions_.Answer(connection.number(), port, classes_.Assign(connection));
}

void HostAgent::AnswerByPlan(const Connection& connection) {
  const QueuePairAnswer& plan = connection.kept.answer;
  if (!questions_.IsWaiting(connection.number()) || plan.kind == QueuePairAnswer::Kind::kScan) return;
  const bool has_port = plan.kind == QueuePairAnswer::Kind::kUse && !departures_.IsPortTaken(connection, plan.port);
  Answer(connection, has_port ? plan.port : 0);
}

void HostAgent::Take(const PathRequestOutcome& event) {
  const auto number = questions_.FindAnswered(event.question);
  if (!number.has_value()) return;
  const Connection& connection = connections_.at(*number);
  if (connection.stage != Stage::kOpening) return;
  const bool is_open = (event.error == 0 || event.error == EINPROGRESS) && event.source_port != 0;
  if (is_open) {
    Open(connection, event.source_port);
  } else {
    Close(connection.number());
  }
}

void HostAgent::Take(const ProcessLeft& event) {
  const auto number = questions_.End(event.question);
  if (!number.has_value()) return;
  const Connection& connection = connections_.at(*number);
  if (connection.stage == Stage::kOpen) return;
  if (connection.kept.inode == 0) return Close(*number);
  connections_.SetUnclear(*number);
  classes_.Forget(*number);  // it may not have waited for it
}

// ---- What the controller says ----

void HostAgent::Take(const StreamBroken&) {
  arrivals_.ForgetAnswers();
  stream_.Break();
  probes_.Forget();
  tests_.Cancel();
  connection_reporter_.ForgetStream();
  for (const uint64_t number : questions_.EndDeadlines()) Answer(connections_.at(number), 0);
}

void HostAgent::Take(const MessageFromController& event) {
  if (!stream_.HearMessage()) return;
  std::visit([this](const auto& message) { Hear(message); }, event.message);
}

void HostAgent::Hear(const controller::Welcome& message) {
  if (stream_.Hear(message)) connection_reporter_.ReportEnded();
}

void HostAgent::Hear(const controller::PathsAnswered& message) {
  if (!message.connections.empty() && connections_.jobs().contains(message.job)) SetLevel(message.job, message.level);
  for (const traffic::ConnectionAnswer& answer : message.connections) HearAnswer(message, answer);
}

void HostAgent::HearAnswer(const controller::PathsAnswered& message, const traffic::ConnectionAnswer& answer) {
  const Connection* connection = connections_.Find(answer.connection);
  if (connection == nullptr || connection->kept.job != message.job) return;
  if (answer.queue_pairs.empty() && !connection->kept.is_answered) {
    // No connection of training, the controller says: as if it had never been asked for.
    const IpAddress destination = connection->kept.wanted.destination;
    addresses_.AddStranger(destination, now());
    if (questions_.HasProcess(answer.connection)) {
      outbox_.Note(destination.ToString() + " is left alone: " + answer.reason);
    }
    return Close(answer.connection);
  }
  if (answer.queue_pairs.size() != 1) return;
  TakePlan(*connection, answer.queue_pairs.front());
}

void HostAgent::Hear(const controller::PathsChanged& message) {
  for (const controller::QueuePairChanged& change : message.changes) HearChange(change);
}

void HostAgent::HearChange(const controller::QueuePairChanged& change) {
  const Connection* connection = connections_.Find(change.connection);
  if (connection == nullptr) return connection_reporter_.ReportClosed(change.job, {change.connection});
  if (connection->kept.job != change.job || change.queue_pair != 0) return;
  TakePlan(*connection, change.answer);
  const uint16_t port = change.answer.port;
  const bool has_port = change.answer.kind == QueuePairAnswer::Kind::kUse && port != 0;
  if (!has_port || !change.is_prepared) return;
  if (connection->stage == Stage::kOpen) return departures_.Move(*connection, port);
  if (connection->is_tcp()) departures_.Refuse(*connection, port, "its socket is not known yet");
}

void HostAgent::TakePlan(const Connection& connection, const QueuePairAnswer& plan) {
  const bool is_first = connections_.SetPlan(connection.number(), plan);
  if (is_first) connection_reporter_.ReportOpened(connection);
  AnswerByPlan(connection);
}

void HostAgent::SetLevel(const std::string& job, uint32_t level) {
  if (classes_.SetLevel(job, level)) accepted_.ClassifyJob(job);
}

// ---- What the kernel shows ----

void HostAgent::Take(const RewriteDone& event) {
  if (arrivals_.Finish(event) || departures_.Finish(event)) return;
  const auto stays = orders_.Finish(event);
  const Connection* connection = stays.has_value() ? departures_.TakeUp(*stays) : nullptr;
  if (connection != nullptr) connection_reporter_.ReportOpened(*connection);
}

void HostAgent::Take(const SocketsSeen& event) {
  SocketLook look(event);
  LookAtConnections(event.asked_at, look);
  CountBytes(event.asked_at, event.sockets);
  accepted_.Look(event.asked_at, look.by_inode(),
                 [this](const auto& accepted, const SocketPair& ends) { return HoldAccepted(accepted, ends); });
  arrivals_.Look(event.asked_at, look.by_ends());
  std::unordered_set<uint64_t> opened;
  for (const auto& [number, connection] : connections_.connections()) opened.insert(connection.kept.inode);
  accepted_.LookForOwners(event, opened, [this](const SocketPair& ends) { return MaySteer(ends); });
  seen_ = look.TakeEnds();
}

void HostAgent::LookAtConnections(SimTime asked_at, const SocketLook& look) {
  std::vector<uint64_t> gone;
  for (const auto& [number, connection] : connections_.connections()) {
    const KeptConnection& kept = connection.kept;
    if (kept.inode == 0) continue;
    if (connection.stage == Stage::kUnclear) {
      if (const auto port = look.FindOpened(kept)) {
        Open(connection, *port);
      } else if (connection.since + kUnclearFor < asked_at) {
        gone.push_back(number);
      }
    }
    if (connection.stage != Stage::kOpen) continue;
    if (look.IsAlive(kept)) {
      classes_.Classify(connection);  // the agent before us may have died between a new level and its sockets
    } else if (connection.since < asked_at) {
      gone.push_back(number);
    }
  }
  CloseAll(gone);
}

void HostAgent::CountBytes(SimTime at, std::span<const SeenSocket> sockets) {
  std::map<SocketPair, double> bytes;
  for (const SeenSocket& socket : sockets) bytes.emplace(socket.ends, socket.bytes_acked);
  std::map<std::string, std::vector<JobMeter::ConnectionSum>> sums;
  for (const auto& [number, connection] : connections_.connections()) {
    if (!connection.has_open_socket()) continue;
    const auto found = bytes.find(EndsOf(connection.kept));
    if (found != bytes.end()) sums[connection.kept.job].push_back({number, found->second});
  }
  for (const auto& [job, connections] : sums) meter_.AddBytes(at, job, connections);
}

bool HostAgent::MaySteer(const SocketPair& ends) const {
  return addresses_.AreTraining(ends.local, ends.remote) && !addresses_.IsStranger(ends.remote, now()) &&
         !connections_.is_full();
}

bool HostAgent::HoldAccepted(const AcceptedSockets::Accepted& accepted, const SocketPair& ends) {
  if (!MaySteer(ends)) return false;
  const Connection& connection = Hold({.job = accepted.kept.job,
                                       .wanted = {.source = ends.local,
                                                  .destination = ends.remote,
                                                  .protocol = 6,
                                                  .destination_port = ends.remote_port,
                                                  .pid = accepted.kept.pid},
                                       .inode = accepted.kept.inode,
                                       .answer = {}});
  classes_.Inherit(connection.number(), accepted.traffic_class);
  Open(connection, ends.local_port);
  return true;
}

void HostAgent::Take(const ProcessEnded& event) {
  std::vector<uint64_t> gone;
  for (const auto& [number, connection] : connections_.connections()) {
    // Sockets may live on in a child, and are looked at by themselves.
    if (connection.kept.wanted.pid == event.pid && connection.kept.inode == 0) gone.push_back(number);
  }
  CloseAll(gone);
}

void HostAgent::Take(const SegmentsSeen& event) {
  tests_.AddSymptoms(event.symptoms);
  slurm_jobs_ = event.slurm_jobs;
  for (controller::ProcessesSeen& seen : process_reporter_.Report(event, is_welcome())) outbox_.Send(std::move(seen));
  for (std::string& note : process_reporter_.TakeNotes()) outbox_.Note(std::move(note));
}

// ---- From the first to the last of a connection ----

const HostAgent::Connection& HostAgent::Hold(KeptConnection kept) {
  const Connection& connection = connections_.Add(std::move(kept));
  connection_reporter_.Ask(connection);
  return connection;
}

void HostAgent::Open(const Connection& connection, uint16_t socket_port) {
  connections_.Open(connection.number(), socket_port);
  departures_.TakeUp(connection);
  connection_reporter_.ReportOpened(connection);
  classes_.Classify(connection);  // the level may have changed while it was being opened
}

void HostAgent::CloseAll(const std::vector<uint64_t>& numbers) {
  std::map<std::string, std::vector<uint64_t>> closed;
  for (const uint64_t number : numbers) {
    const Connection* connection = connections_.Find(number);
    if (connection == nullptr) continue;
    const std::string job = connection->kept.job;
    questions_.Close(number);
    departures_.Close(*connection);
    classes_.Forget(number);
    connection_reporter_.Forget(number);
    connections_.Remove(number);
    if (!connections_.jobs().contains(job)) EndJob(job);
    closed[job].push_back(number);
  }
  for (auto& [job, gone] : closed) connection_reporter_.ReportClosed(job, std::move(gone));
}

void HostAgent::EndJob(const std::string& job) {
  meter_.AddBytes(now(), job, {});
  if (!is_welcome()) return connection_reporter_.KeepEnded(job);
  if (!accepted_.HasSocketsOf(job)) classes_.ForgetLevel(job);
}

}  // namespace fairlead::agent
