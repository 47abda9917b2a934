#include "controller/traffic_controller.h"

#include <fmt/format.h>

#include <optional>
#include <variant>

#include "base/check.h"

namespace fairlead::controller {
namespace {

// Ticks come each second; a step that is longer was a pause of our own.
constexpr SimDuration kClockStepMax(2'000'000'000);

// A refused agent may come again many times a second; silences that matter are longer.
constexpr SimDuration kAnswersPeriod(1'000'000'000);

LevelSet LevelOf(const LiveJob& job) { return {.job = job.name, .level = job.level, .reason = job.reason}; }

}  // namespace

TrafficController::TrafficController(const topology::Fabric& fabric, const topology::AddressBook& addresses,
                                     traffic::PathService& paths, const traffic::TrafficPolicy& levels,
                                     const TrafficControllerOptions& options)
    : fabric_(fabric),
      paths_(paths),
      time_(kClockStepMax),
      outputs_(fabric),
      words_(fabric, addresses),
      streams_(fabric, addresses,
               {.controller_version = options.version,
                .heartbeat_period = options.heartbeat_period,
                .lease_ttl = options.lease_ttl},
               &outputs_),
      announcements_(fabric.num_hosts(), &streams_),
      jobs_(fabric.num_hosts(), options.num_levels, options.sets_levels, &outputs_),
      testing_(fabric, addresses, jobs_, options.random_seed, &streams_, &outputs_),
      batch_(fabric.num_hosts()),
      requests_(words_, &jobs_, &streams_, &batch_, &outputs_),
      moves_({.fabric = fabric, .addresses = addresses, .paths = paths, .time = time_, .jobs = jobs_},
             options.arrival_timeout, &streams_, &batch_, &outputs_),
      probes_(fabric, addresses,
              {.timeout = options.probe_timeout,
               .protocol = options.probe_protocol,
               .destination_port = options.probe_destination_port},
              &streams_, &batch_, &outputs_),
      reports_(fabric, &batch_, &outputs_),
      levels_(fabric, paths, jobs_, levels,
              {.num_levels = options.num_levels,
               .sets_levels = options.sets_levels,
               .measurement_weight = options.measurement_weight,
               .order_error_probability = options.order_error_probability,
               .level_period = options.level_period,
               .random_seed = options.random_seed}) {
  FL_CHECK(options.Validate().ok());
}

Status TrafficController::Restore(std::span<const std::pair<std::string, std::string>> records) {
  for (const auto& [key, value] : records) {
    FL_RETURN_IF_ERROR(jobs_.Restore(key, value));
    FL_RETURN_IF_ERROR(reports_.Restore(key, value));
  }
  return OkStatus();
}

std::vector<TrafficOutput> TrafficController::Handle(SimTime clock, std::span<const TrafficInput> inputs) {
  time_.Advance(clock);
  for (const TrafficInput& input : inputs) {
    std::visit([this](const auto& one) { Take(one); }, input);
  }
  FinishRounds();
  Flush();
  moves_.Tick();
  testing_.Tick(time_.now(), time_.clock());
  EndRestoring();
  TellAnswers();
  PlanLevels();
  return outputs_.Take();
}

void TrafficController::Take(const StreamMessage& input) {
  const AgentStreams::Sender sender = streams_.FindSender(input.stream);
  if (sender.is_closed) return;
  if (!sender.host.valid()) {
    const auto* hello = std::get_if<HostHello>(&input.message);
    if (hello != nullptr) return Welcome(input.stream, *hello);
    return streams_.Refuse(input.stream, "the first message on a stream must be a hello; is this a Fairlead agent?");
  }
  streams_.Hear(sender.host, time_.clock());
  // Requests to the path service alone are passed on together; everything else needs the results of earlier messages of
  // the same host. Hosts say such things all the time, and a flush for each of them would be a batch for each.
  const bool is_passed_on = std::holds_alternative<PathsWanted>(input.message) ||
                            std::holds_alternative<Heartbeat>(input.message) ||
                            std::holds_alternative<ProbesFinished>(input.message);
  if (!is_passed_on && batch_.IsWaiting(sender.host)) Flush();
  std::visit([&](const auto& message) { Hear(sender.host, message); }, input.message);
}

void TrafficController::Take(const StreamEnded& input) {
  const HostId speaker = streams_.FindSender(input.stream).host;
  if (speaker.valid() && batch_.IsWaiting(speaker)) Flush();
  const std::optional<HostId> host = streams_.End(input.stream);
  if (!host) return;
  moves_.LoseOrders(*host);
  testing_.Lose(*host);
  outputs_.NoteHost(Noted::Severity::kWarning, *host, "its agent is away; what it holds is kept for the lease's term");
}

void TrafficController::Welcome(StreamId stream, const HostHello& hello) {
  if (std::string fault = streams_.FindFault(hello); !fault.empty()) {
    if (const HostId host = fabric_.FindHost(hello.host); host.valid()) answered_.insert(host);
    return streams_.Refuse(stream, std::move(fault));
  }
  if (batch_.has_questions()) Flush();
  const HostId host = fabric_.FindHost(hello.host);
  if (streams_.IsConnected(host)) {
    moves_.LoseOrders(host);
    testing_.Lose(host);
  }
  streams_.Bind(stream, host, hello, time_.clock());
  announcements_.AskFor(host);
  for (const JobId job : jobs_.jobs_at(host)) streams_.SendTo(host, LevelOf(jobs_.at(job)));
  streams_.RepeatJudgement(host);
  moves_.Renew(host);
  outputs_.NoteHost(Noted::Severity::kInfo, host, "its agent is here, version " + streams_.agent(host).version);
}

void TrafficController::Hear(HostId host, const HostHello&) {
  moves_.LoseOrders(host);
  testing_.Lose(host);
  streams_.RefuseSecondHello(host);
}

void TrafficController::Hear(HostId host, const Heartbeat& message) {
  streams_.Hear(host, message);
  batch_.AddOf(host, traffic::LeasesRenewed{.host = host, .num_leases = message.num_leases, .jobs = std::nullopt});
}

void TrafficController::Hear(HostId host, const PathsWanted& message) {
  if (const std::optional<JobId> job = requests_.Ask(host, message)) announcements_.Name(host, *job);
}

void TrafficController::Hear(HostId host, const ConnectionOpened& message) {
  const std::optional<JobId> job = jobs_.Find(message.job);
  const LiveConnection* connection = job ? jobs_.FindConnection(*job, host, message.connection) : nullptr;
  if (connection == nullptr || message.queue_pair >= connection->socket_ports.size() || message.socket_port == 0) {
    return outputs_.Object(
        host,
        fmt::format("connection {} opened: this host holds no such queue pair, or its port is 0", message.connection));
  }
  const QueuePairKey key{*job, message.connection, message.queue_pair};
  batch_.AddPort(key, host, message.socket_port, message.socket_port);
  const uint16_t before = connection->socket_ports[message.queue_pair];
  const bool is_roce = connection->request.protocol == 17;
  if (before == message.socket_port) return;
  if (before != 0 && !is_roce) moves_.Drop(key);  // it was opened again
  jobs_.SetSocketPort(key, message.socket_port);
  if (is_roce) return;  // stays where it is
  moves_.MoveIfNeeded(key, *connection, message.socket_port);
}

void TrafficController::Hear(HostId host, const ConnectionsClosed& message) {
  const std::optional<JobId> job = jobs_.Find(message.job);
  if (!job) return;
  // No earlier message of this host is pending.
  batch_.Release(host, *job, message.connections);
  if (message.connections.empty()) {
    RemoveShare(*job, host);
  } else {
    Remove(*job, host, message.connections);
  }
}

// Our own list first, so that corrections find the sockets' ports; then what the path service did not take is struck.
// Before, the list has to be that of the path service: another host may just have asked for a connection of that name.
void TrafficController::Hear(HostId host, const ConnectionsHeld& message) {
  if (batch_.has_questions()) Flush();
  if (std::string fault = FaultOfJobName(message.job); !fault.empty()) return outputs_.Object(host, std::move(fault));
  traffic::LeasesAnnounced announced = {.host = host, .job = {}, .connections = {}};
  std::vector<const HeldConnection*> taken;
  for (const HeldConnection& held : message.connections) {
    traffic::HeldConnection translated;
    const std::string fault = words_.Translate(host, held, &translated);
    if (fault.empty()) {
      announced.connections.push_back(std::move(translated));
      taken.push_back(&held);
    } else {
      outputs_.Object(host, fmt::format("announcement of job {}: {}", message.job, fault));
    }
  }
  const std::optional<JobId> job = taken.empty() ? jobs_.Find(message.job) : jobs_.Intern(message.job);
  if (!job) return;
  announced.job = *job;
  announcements_.Name(host, *job);
  jobs_.AddQuestion(*job);  // it keeps its number until all is announced
  ReleaseOthers(*job, host, announced.connections);
  std::set<uint64_t> named;
  for (size_t c = 0; c < taken.size(); ++c) {
    named.insert(taken[c]->wanted.connection);
    TakeHeld(*job, host, announced.connections[c], taken[c]->socket_ports);
  }
  batch_.Add(std::move(announced));
  Flush();
  jobs_.RemoveQuestion(*job);
  StrikeAllBut(*job, host, named);
  if (jobs_.FindShare(*job, host) == nullptr) return ForgetIfUnused(*job);
  CorrectPorts(*job, host, taken);
  streams_.SendTo(host, LevelOf(jobs_.at(*job)));
}

// What an agent announces is what it has, whatever was said in its name before.
void TrafficController::ReleaseOthers(JobId job, HostId host, std::span<const traffic::HeldConnection> announced) {
  std::vector<uint64_t> others;
  for (const traffic::HeldConnection& held : announced) {
    const LiveConnection* known = jobs_.FindConnection(job, host, held.request.connection);
    if (known != nullptr && known->request != held.request) others.push_back(held.request.connection);
  }
  if (others.empty()) return;
  Remove(job, host, others);
  batch_.Release(host, job, std::move(others));
}

void TrafficController::TakeHeld(JobId job, HostId host, const traffic::HeldConnection& held,
                                 const std::vector<uint16_t>& socket_ports) {
  const uint64_t name = held.request.connection;
  jobs_.AddConnection(job, host, held.request);
  const LiveConnection* mine = jobs_.FindConnection(job, host, name);
  // The name may be another's: the path service will say so.
  if (mine == nullptr || mine->request != held.request) return;
  for (uint32_t q = 0; q < socket_ports.size(); ++q) {
    const QueuePairKey key{job, name, q};
    if (mine->socket_ports[q] != socket_ports[q]) moves_.Drop(key);
    jobs_.SetSocketPort(key, socket_ports[q]);
    moves_.TakeHeldPort(key, *mine, held.queue_pairs[q]);
  }
}

void TrafficController::StrikeAllBut(JobId job, HostId host, const std::set<uint64_t>& named) {
  const std::set<uint64_t>* share = jobs_.FindShare(job, host);
  if (share == nullptr) return;
  std::vector<uint64_t> gone;
  for (const uint64_t name : *share) {
    if (!named.contains(name) || !paths_.Find(job, name)) gone.push_back(name);
  }
  Remove(job, host, gone);
}

void TrafficController::CorrectPorts(JobId job, HostId host, std::span<const HeldConnection* const> held) {
  for (const HeldConnection* one : held) {
    const uint64_t name = one->wanted.connection;
    const LiveConnection* connection = jobs_.FindConnection(job, host, name);
    if (connection == nullptr || connection->socket_ports.size() != one->queue_pairs.size()) continue;
    for (uint32_t q = 0; q < one->queue_pairs.size(); ++q) {
      const QueuePairKey key{job, name, q};
      const uint16_t socket_port = one->socket_ports[q];
      if (socket_port != 0) batch_.AddPort(key, host, moves_.WirePortOf(key, socket_port), socket_port);
      moves_.MoveIfNeeded(key, *connection, one->queue_pairs[q].port);
    }
  }
}

// Connections of an earlier agent of this host that this one has forgotten: heartbeats would keep them forever.
void TrafficController::Hear(HostId host, const AnnouncementFinished&) {
  const std::optional<std::set<JobId>> named = announcements_.Finish(host);
  if (!named) return;
  const std::set<JobId> held = jobs_.jobs_at(host);
  for (const JobId job : held) {
    if (named->contains(job)) continue;
    outputs_.NoteHost(Noted::Severity::kWarning, host,
                      fmt::format("its agent no longer has {} connections of job {}: they are released",
                                  jobs_.FindShare(job, host)->size(), jobs_.at(job).name));
    batch_.Release(host, job, {});
    RemoveShare(job, host);
  }
}

void TrafficController::Hear(HostId host, const ProbesFinished& message) {
  if (probes_.Hear(host, message)) FinishRounds();
}

void TrafficController::Hear(HostId host, const JobMeasured& message) {
  const std::optional<JobId> job = jobs_.Find(message.job);
  // Late messages of ended jobs are normal.
  if (!job || jobs_.FindShare(*job, host) == nullptr) return;
  if (const std::string fault = JobMeasurements::FindFault(message); !fault.empty()) {
    return outputs_.Object(host, fmt::format("measurement of job {}: {}: ignored", message.job, fault));
  }
  levels_.Measure(*job, host, message);
}

void TrafficController::Flush() {
  const std::vector<JobId> asking = requests_.BeginAnswers();
  PathBatch::Events events = batch_.Take();
  std::vector<traffic::PathAction> actions = paths_.Handle(time_.clock(), events.all);
  probes_.Keep(std::span(events.all).subspan(events.first_question));
  for (traffic::PathAction& action : actions) {
    std::visit([this](auto& one) { Carry(one); }, action);
  }
  // A connection that was refused everything has no path.
  for (const JobId job : asking) ForgetIfUnused(job);
  requests_.EndAnswers();
}

void TrafficController::Carry(const traffic::PathsMoved& action) {
  if (moves_.Carry(action)) levels_.MarkStale();
}

void TrafficController::Carry(const traffic::LeaseExpired& action) {
  const LiveJob* job = jobs_.Find(action.lease.job);
  if (job == nullptr) return;
  const HostId host = action.lease.host;
  outputs_.NoteHost(
      Noted::Severity::kWarning, host,
      fmt::format("silent for too long: {} queue pairs of job {} are given up", action.num_queue_pairs, job->name));
  // The connections may live on under an agent that is away, with packets that have to be rewritten at their destination.
  // Its agent does that for as long as it sees the socket.
  RemoveShare(action.lease.job, host, PortMoves::Arrivals::kLeft);
  // A host that is only late still holds them. Its heartbeats need not show it: they count leases, not connections.
  announcements_.AskFor(host);
}

void TrafficController::Carry(const traffic::LinkStateChanged& action) {
  levels_.SetHealth(action.link, action.health);
  const bool is_good = action.to == traffic::LinkState::kUp;
  outputs_.Note(is_good ? Noted::Severity::kInfo : Noted::Severity::kWarning, "link " + fabric_.LinkName(action.link),
                fmt::format("{} -> {}, {:.4g} % of its capacity: {}", Name(action.from), Name(action.to),
                            100 * action.health, action.reason));
}

void TrafficController::Carry(const traffic::EventRejected& action) {
  outputs_.Note(Noted::Severity::kWarning, "paths", action.reason);
}

void TrafficController::FinishRounds() {
  while (probes_.HasFinished(time_.now())) {
    if (probes_.are_results_away()) Flush();
    batch_.Add(probes_.TakeFinished(time_.now()));
  }
}

void TrafficController::EndRestoring() {
  if (!jobs_.is_restoring() || time_.now() < SimTime() + streams_.lease_ttl()) return;
  for (const JobId job : jobs_.EndRestoring()) levels_.Forget(job);
}

void TrafficController::TellAnswers() {
  if (answered_.empty() || time_.now() < tell_answers_at_) return;
  tell_answers_at_ = time_.now() + kAnswersPeriod;
  outputs_.Add(HostsAnswered{{answered_.begin(), answered_.end()}});
  answered_.clear();
}

void TrafficController::PlanLevels() {
  for (const traffic::JobPlan& plan : levels_.PlanIfDue(time_.now())) {
    if (!jobs_.SetLevel(plan.id, plan.level, plan.reason)) continue;
    const LiveJob& job = jobs_.at(plan.id);
    for (const auto& [host, share] : job.shares) streams_.SendTo(host, LevelOf(job));
    outputs_.Note(Noted::Severity::kInfo, "job " + job.name, fmt::format("level {}: {}", job.level, job.reason));
  }
}

void TrafficController::Remove(JobId job, HostId host, std::span<const uint64_t> connections,
                               PortMoves::Arrivals arrivals) {
  for (const uint64_t name : connections) {
    const uint32_t num_queue_pairs = jobs_.RemoveConnection(job, host, name);
    for (uint32_t q = 0; q < num_queue_pairs; ++q) moves_.Drop({job, name, q}, arrivals);
    if (num_queue_pairs > 0) levels_.RemoveConnection(job, host, name);
  }
  if (jobs_.FindShare(job, host) == nullptr) levels_.RemoveHost(job, host);
  ForgetIfUnused(job);
}

void TrafficController::RemoveShare(JobId job, HostId host, PortMoves::Arrivals arrivals) {
  const std::set<uint64_t>* share = jobs_.FindShare(job, host);
  if (share == nullptr) return ForgetIfUnused(job);
  const std::vector<uint64_t> held(share->begin(), share->end());
  Remove(job, host, held, arrivals);
}

void TrafficController::ForgetIfUnused(JobId job) {
  if (jobs_.ForgetIfUnused(job)) levels_.Forget(job);
}

}  // namespace fairlead::controller
