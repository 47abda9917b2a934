#include "sim/chaos/virtual_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/check.h"

namespace fairlead::sim::chaos {

using agent::SocketPair;

namespace {

// How long a process waits for its agent (ccl/steer/agent_exchange.h).
constexpr SimDuration kPatience(20'000'000);
// A packet is on its way for no longer than this.
constexpr SimDuration kPacketLife(20'000'000);
constexpr uint16_t kFirstJobPort = 5000;

}  // namespace

VirtualJobs::VirtualJobs(uint64_t seed, uint32_t num_jobs, SimTime calm_at, Surroundings surroundings)
    : random_(seed),
      calm_at_(calm_at),
      surroundings_(std::move(surroundings)),
      jobs_(num_jobs),
      of_host_(surroundings_.kernels.size()) {
  for (uint32_t j = 0; j < num_jobs; ++j) {
    jobs_[j].name = fmt::format("job{}", j);
    queue().After(Milliseconds(0, 10'000), [this, j] { StartJob(j); });
  }
}

SimDuration VirtualJobs::Milliseconds(double low, double high) {
  return SimDuration(static_cast<int64_t>(1e6 * random_.Uniform(low, high)));
}

// ---- Jobs and processes ----

void VirtualJobs::StartJob(uint32_t j) {
  Job& job = jobs_[j];
  if (job.is_running) return;
  job.is_running = true;
  job.started_at = queue().now();
  ++job.run;
  std::vector<uint32_t> hosts(surroundings_.kernels.size());
  for (uint32_t h = 0; h < hosts.size(); ++h) hosts[h] = h;
  random_.Shuffle(std::span(hosts));
  hosts.resize(2 + random_.Below(std::min<size_t>(hosts.size(), 6) - 1));
  job.hosts = std::move(hosts);
  job.pids.assign(job.hosts.size(), 0);
  job.connections.clear();
  for (int32_t& pid : job.pids) pid = ++num_pids_;
  for (size_t place = 0; place < job.hosts.size(); ++place) {
    for (uint64_t i = 1 + random_.Below(2); i > 0; --i) {
      queue().After(Milliseconds(0, 300), [this, j, run = job.run, place] { Open(j, run, place); });
    }
  }
  if (random_.Below(2) == 0) {
    queue().After(Milliseconds(5'000, 40'000), [this, j, run = job.run] {
      if (jobs_[j].run == run && queue().now() < calm_at_) EndJob(j, /*starts_again=*/true);
    });
  }
}

void VirtualJobs::EndJob(uint32_t j, bool starts_again) {
  Job& job = jobs_[j];
  if (!std::exchange(job.is_running, false)) return;
  for (size_t place = 0; place < job.pids.size(); ++place) EndProcess(j, place);
  if (starts_again) queue().After(Milliseconds(10, 5'000), [this, j] { StartJob(j); });
}

void VirtualJobs::EndProcess(uint32_t j, size_t place) {
  Job& job = jobs_[j];
  const int32_t pid = std::exchange(job.pids[place], 0);
  if (pid == 0) return;
  for (const uint64_t number : std::vector(job.connections)) {
    VirtualConnection& connection = connections_[number];
    if (connection.client.pid == pid || connection.server.pid == pid) Close(number);
  }
}

void VirtualJobs::KillProcess(uint32_t host) {
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    for (size_t place = 0; place < jobs_[j].hosts.size(); ++place) {
      if (!jobs_[j].is_running || jobs_[j].hosts[place] != host || jobs_[j].pids[place] == 0) continue;
      EndProcess(j, place);
      queue().After(Milliseconds(100, 3'000), [this, j, run = jobs_[j].run] {
        if (jobs_[j].run == run) EndJob(j, /*starts_again=*/true);
      });
      return;
    }
  }
}

void VirtualJobs::HostDied(uint32_t host) {
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    const bool was_there = jobs_[j].is_running && std::ranges::count(jobs_[j].hosts, host) > 0;
    if (was_there) EndJob(j, /*starts_again=*/true);
  }
  AgentDied(host);
}

// ---- Opening ----

void VirtualJobs::Open(uint32_t j, uint64_t run, size_t place) {
  Job& job = jobs_[j];
  const size_t next = (place + 1) % job.hosts.size();
  if (job.run != run || job.pids[place] == 0 || job.pids[next] == 0) return;
  const uint64_t number = connections_.size();
  VirtualConnection connection;
  connection.job = j;
  connection.destination_port = static_cast<uint16_t>(kFirstJobPort + j);
  connection.client = {.host = job.hosts[place], .pid = job.pids[place]};
  connection.server = {.host = job.hosts[next], .pid = job.pids[next]};
  connection.client.inode = kernel(connection.client.host).NewInode();
  connections_.push_back(connection);
  job.connections.push_back(number);
  Ask(number);
  if (random_.Below(3) != 0) return;
  queue().After(Milliseconds(1'000, 20'000), [this, j, run, place, number] {
    if (calm_at_ <= queue().now()) return;
    Close(number);
    Open(j, run, place);
  });
}

void VirtualJobs::Ask(uint64_t number) {
  const VirtualConnection& connection = connections_[number];
  const uint32_t host = connection.client.host;
  const uint64_t question = ++num_questions_;
  const bool may_ask = agent(host).is_alive() && random_.Below(50) > 0;  // some come when the agent's queue is full
  if (!may_ask) return Connect(number, 0, std::nullopt);
  connections_[number].question = question;
  questions_[question] = {.host = host,
                          .agent = agent(host).incarnation(),
                          .connection = number,
                          .inode = connection.client.inode,
                          .asked_at = queue().now()};
  queue().After(kPatience, [this, question] { CheckPatience(question); });
  agent(host).Deliver(agent::PathRequested{.question = question,
                                           .kind = agent::QuestionKind::kConnect,
                                           .pid = connection.client.pid,
                                           .inode = connection.client.inode,
                                           .job = jobs_[connection.job].name,
                                           .source = surroundings_.network->NicOf(host),
                                           .destination = surroundings_.network->NicOf(connection.server.host),
                                           .destination_port = connection.destination_port});
}

// One that has died, or is stopped, is not waited for.
void VirtualJobs::GiveUp(uint64_t number) {
  const auto found = questions_.find(number);
  if (found == questions_.end() || found->second.is_answered || found->second.is_given_up) return;
  Question& question = found->second;
  question.is_given_up = true;
  if (question.connection.has_value()) {
    Connect(*question.connection, 0, std::nullopt);
  } else {
    questions_.erase(found);
  }
}

void VirtualJobs::CheckPatience(uint64_t number) {
  const auto found = questions_.find(number);
  const bool is_late = found != questions_.end() && !found->second.is_answered && !found->second.is_given_up;
  if (!is_late) return;
  const Question& question = found->second;
  const VirtualAgent& asked = agent(question.host);
  if (asked.is_running() && asked.running_since() <= question.asked_at) {
    surroundings_.violate(
        {queue().now(), "an agent that runs answers in time",
         fmt::format("question {} on {} is still open", number, surroundings_.network->HostName(question.host))});
  }
  GiveUp(number);
}

void VirtualJobs::AgentDied(uint32_t host) {
  for (auto& [number, question] : questions_) {
    if (question.host == host && !question.is_answered && !question.is_given_up) {
      queue().After(Milliseconds(0.01, 0.05), [this, number = number] { GiveUp(number); });
    }
  }
}

void VirtualJobs::TakeAnswer(uint32_t host, const agent::AnswerProcess& answer) {
  if (!answered_.insert(answer.question).second) {
    surroundings_.violate(
        {queue().now(), "a question has one answer",
         fmt::format("question {} on {} is answered again", answer.question, surroundings_.network->HostName(host))});
    return;
  }
  const auto found = questions_.find(answer.question);
  if (found == questions_.end() || found->second.is_given_up) return;
  Question& question = found->second;
  FL_CHECK(question.host == host);
  question.is_answered = true;
  std::optional<uint8_t> traffic_class;
  if (answer.sets_class) traffic_class = answer.traffic_class;
  if (!question.connection.has_value()) {
    if (traffic_class.has_value()) kernel(host).SetClass(question.inode, *traffic_class);
    questions_.erase(found);
    return;
  }
  const uint16_t port = answer.leave ? uint16_t{0} : answer.source_port;
  queue().After(Milliseconds(0.01, 0.1), [this, number = answer.question, port, traffic_class] {
    const auto asked = questions_.find(number);
    if (asked != questions_.end()) Connect(*asked->second.connection, port, traffic_class);
  });
}

void VirtualJobs::Connect(uint64_t number, uint16_t wanted_port, std::optional<uint8_t> traffic_class) {
  VirtualConnection& connection = connections_[number];
  if (connection.is_closed) return;
  const uint32_t host = connection.client.host;
  const IpAddress local = surroundings_.network->NicOf(host);
  const IpAddress remote = surroundings_.network->NicOf(connection.server.host);
  connection.socket_port =
      kernel(host).ChoosePort(queue().now(), local, remote, connection.destination_port, wanted_port);
  kernel(host).Add({.inode = connection.client.inode,
                    .pid = connection.client.pid,
                    .job = jobs_[connection.job].name,
                    .ends = {local, remote, connection.socket_port, connection.destination_port},
                    .is_client = true,
                    .traffic_class = traffic_class,
                    .opened_at = queue().now(),
                    .bytes_per_second = 1e8});
  const bool blocks = random_.Below(2) == 0;
  if (!blocks) Report(number, connection.socket_port, EINPROGRESS);
  queue().After(Milliseconds(0.05, 2), [this, number, blocks] { Establish(number, !blocks); });
}

// The first packet arrives, or is sent again.
void VirtualJobs::Establish(uint64_t number, bool is_reported) {
  VirtualConnection& connection = connections_[number];
  if (connection.is_closed) return;
  const IpAddress source = surroundings_.network->NicOf(connection.client.host);
  const IpAddress destination = surroundings_.network->NicOf(connection.server.host);
  const SocketPair ends = {source, destination, connection.socket_port, connection.destination_port};
  connection.client.wire_port = kernel(connection.client.host).WirePortOf(ends);
  const PacketHeader packet = {.source = source,
                               .destination = destination,
                               .source_port = connection.client.wire_port,
                               .destination_port = connection.destination_port};
  if (!surroundings_.network->Arrives(packet)) {
    queue().After(Milliseconds(200, 1'000), [this, number, is_reported] { Establish(number, is_reported); });
    return;
  }
  ++num_opened_;
  queue().Log([&] { return "open " + Describe(connection); });
  connection.is_established = true;
  connection.server.inode = kernel(connection.server.host).NewInode();
  connection.server.wire_port = connection.destination_port;
  kernel(connection.server.host)
      .Add({.inode = connection.server.inode,
            .pid = connection.server.pid,
            .job = jobs_[connection.job].name,
            .ends = {destination, source, connection.destination_port, connection.socket_port},
            .opened_at = queue().now(),
            .bytes_per_second = number % 4 == 0 ? 1e8 : 0});  // some send in both directions
  of_host_[connection.client.host].push_back(number);
  of_host_[connection.server.host].push_back(number);
  CheckPackets(connection.client.host);
  if (!is_reported) Report(number, connection.socket_port, 0);
  AskAboutAccepted(number);
}

void VirtualJobs::Report(uint64_t number, uint16_t port, int32_t error) {
  const uint64_t question = connections_[number].question;
  const auto found = questions_.find(question);
  if (found == questions_.end()) return;
  const Question& asked = found->second;
  if (asked.is_answered && !asked.is_given_up && agent(asked.host).incarnation() == asked.agent) {
    agent(asked.host).Deliver(agent::PathRequestOutcome{question, port, error});
  }
  Leave(question);
  connections_[number].question = 0;
}

void VirtualJobs::Leave(uint64_t number) {
  const auto found = questions_.find(number);
  if (found == questions_.end()) return;
  const Question question = found->second;
  questions_.erase(found);
  queue().After(Milliseconds(0.01, 0.05), [this, number, host = question.host, mine = question.agent] {
    if (agent(host).incarnation() == mine) agent(host).Deliver(agent::ProcessLeft{number});
  });
}

void VirtualJobs::AskAboutAccepted(uint64_t number) {
  const VirtualConnection& connection = connections_[number];
  const uint32_t host = connection.server.host;
  if (!agent(host).is_alive()) return;
  const uint64_t question = ++num_questions_;
  questions_[question] = {.host = host,
                          .agent = agent(host).incarnation(),
                          .connection = std::nullopt,
                          .inode = connection.server.inode,
                          .asked_at = queue().now()};
  queue().After(kPatience, [this, question] { CheckPatience(question); });
  agent(host).Deliver(agent::PathRequested{.question = question,
                                           .kind = agent::QuestionKind::kAccept,
                                           .pid = connection.server.pid,
                                           .inode = connection.server.inode,
                                           .job = jobs_[connection.job].name,
                                           .source = surroundings_.network->NicOf(host),
                                           .destination = surroundings_.network->NicOf(connection.client.host),
                                           .source_port = connection.destination_port,
                                           .destination_port = connection.socket_port});
}

// ---- Closing ----

void VirtualJobs::CloseEnd(ConnectionEnd* end) {
  if (end->inode != 0) kernel(end->host).Remove(queue().now(), end->inode);
}

void VirtualJobs::Close(uint64_t number) {
  VirtualConnection& connection = connections_[number];
  if (std::exchange(connection.is_closed, true)) return;
  Leave(std::exchange(connection.question, 0));
  queue().Log([&] { return "close " + Describe(connection); });
  // One end goes first; the other one is closed by its last packet.
  const bool client_first = random_.Below(2) == 0;
  CloseEnd(client_first ? &connection.client : &connection.server);
  queue().After(Milliseconds(0.1, 20), [this, number] {
    CloseEnd(&connections_[number].client);
    CloseEnd(&connections_[number].server);
  });
  std::erase(jobs_[connection.job].connections, number);
  for (const uint32_t host : {connection.client.host, connection.server.host}) std::erase(of_host_[host], number);
}

// ---- Packets ----

std::string VirtualJobs::TrainingJobOf(uint32_t host, uint64_t inode) const {
  const VirtualSocket* socket = kernel(host).Find(inode);
  return socket == nullptr ? "" : socket->job;
}

std::vector<agent::GpuSums> VirtualJobs::GpusOf(uint32_t host) const {
  std::vector<agent::GpuSums> sums;
  for (size_t j = 0; j < jobs_.size(); ++j) {
    const Job& job = jobs_[j];
    if (!job.is_running || std::ranges::count(job.hosts, host) == 0) continue;
    const Seconds ran = (surroundings_.queue->now() - job.started_at).seconds();
    sums.push_back({.job = job.name,
                    .num_gpus = 1,
                    .flop = Flop(ran.value() * 1e12 * static_cast<double>(1 + j)),
                    .busy = Seconds(ran.value() / 2)});
  }
  return sums;
}

std::string VirtualJobs::Describe(const VirtualConnection& connection) const {
  return fmt::format("{}: {} port {} -> {} port {}", jobs_[connection.job].name,
                     surroundings_.network->HostName(connection.client.host), connection.socket_port,
                     surroundings_.network->HostName(connection.server.host), connection.destination_port);
}

void VirtualJobs::CheckPackets(uint32_t host) {
  for (const uint64_t number : of_host_[host]) {
    VirtualConnection& connection = connections_[number];
    CheckEnd(connection, &connection.client, connection.server);
    CheckEnd(connection, &connection.server, connection.client);
  }
}

void VirtualJobs::CheckEnd(const VirtualConnection& connection, ConnectionEnd* from, const ConnectionEnd& to) {
  const VirtualSocket* socket = kernel(from->host).Find(from->inode);
  if (socket == nullptr || kernel(to.host).Find(to.inode) == nullptr) return;
  const uint16_t wire_port = kernel(from->host).WirePortOf(socket->ends);
  if (wire_port != from->wire_port) {
    ++num_moved_;
    from->old_wire_port = std::exchange(from->wire_port, wire_port);
    from->old_until = queue().now() + kPacketLife;
  }
  CheckPort(connection, *from, to, socket->ends, wire_port);
  if (from->old_wire_port != 0 && queue().now() < from->old_until) {
    CheckPort(connection, *from, to, socket->ends, from->old_wire_port);
  }
}

void VirtualJobs::CheckPort(const VirtualConnection& connection, const ConnectionEnd& from, const ConnectionEnd& to,
                            const SocketPair& ends, uint16_t wire_port) {
  const uint16_t shown = kernel(to.host).ShownPortOf(ends.local, ends.remote, wire_port, ends.remote_port);
  if (shown == ends.local_port) return;
  surroundings_.violate({queue().now(), "a packet reaches its socket",
                         fmt::format("{}: a packet from {} with port {} on the wire arrives as from port {}, not {}",
                                     Describe(connection), surroundings_.network->HostName(from.host), wire_port, shown,
                                     ends.local_port)});
}

}  // namespace fairlead::sim::chaos
