#include "sim/hosts/virtual_connections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/check.h"

namespace fairlead::sim::hosts {

using agent::SocketPair;

namespace {

// How long a process waits for its agent (ccl/steer/agent_exchange.h).
constexpr SimDuration kPatience(20'000'000);
// A packet is on its way for no longer than this.
constexpr SimDuration kPacketLife(20'000'000);

}  // namespace

VirtualConnections::VirtualConnections(Random* random, uint64_t unasked_one_in, Surroundings surroundings)
    : random_(random),
      unasked_one_in_(unasked_one_in),
      surroundings_(std::move(surroundings)),
      of_host_(surroundings_.kernels.size()) {}

// ---- Opening ----

uint64_t VirtualConnections::Open(VirtualConnection wanted) {
  const uint64_t number = connections_.size();
  wanted.client.inode = kernel(wanted.client.host).NewInode();
  connections_.push_back(std::move(wanted));
  Ask(number);
  return number;
}

void VirtualConnections::Ask(uint64_t number) {
  const VirtualConnection& connection = connections_[number];
  const HostId host = connection.client.host;
  const uint64_t question = ++num_questions_;
  const bool may_ask = agent(host).is_alive() && (unasked_one_in_ == 0 || random_->Below(unasked_one_in_) > 0);
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
                                           .job = connection.job,
                                           .source = AddressOf(connection.client),
                                           .destination = AddressOf(connection.server),
                                           .destination_port = connection.destination_port});
}

// One that has died, or is stopped, is not waited for.
void VirtualConnections::GiveUp(uint64_t number) {
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

void VirtualConnections::CheckPatience(uint64_t number) {
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

void VirtualConnections::AgentDied(HostId host) {
  for (auto& [number, question] : questions_) {
    if (question.host == host && !question.is_answered && !question.is_given_up) {
      queue().After(Milliseconds(0.01, 0.05), [this, number = number] { GiveUp(number); });
    }
  }
}

void VirtualConnections::TakeAnswer(HostId host, const agent::AnswerProcess& answer) {
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

void VirtualConnections::Connect(uint64_t number, uint16_t wanted_port, std::optional<uint8_t> traffic_class) {
  VirtualConnection& connection = connections_[number];
  if (connection.is_closed) return;
  const HostId host = connection.client.host;
  const IpAddress local = AddressOf(connection.client);
  const IpAddress remote = AddressOf(connection.server);
  connection.socket_port =
      kernel(host).ChoosePort(queue().now(), local, remote, connection.destination_port, wanted_port);
  kernel(host).Add({.inode = connection.client.inode,
                    .pid = connection.client.pid,
                    .job = connection.job,
                    .ends = {local, remote, connection.socket_port, connection.destination_port},
                    .is_client = true,
                    .traffic_class = traffic_class,
                    .opened_at = queue().now(),
                    .bytes_per_second = connection.client.bytes_per_second});
  const bool blocks = random_->Below(2) == 0;
  if (!blocks) Report(number, connection.socket_port, EINPROGRESS);
  queue().After(Milliseconds(0.05, 2), [this, number, blocks] { Establish(number, !blocks); });
}

// The first packet arrives, or is sent again.
void VirtualConnections::Establish(uint64_t number, bool is_reported) {
  VirtualConnection& connection = connections_[number];
  if (connection.is_closed) return;
  const IpAddress source = AddressOf(connection.client);
  const IpAddress destination = AddressOf(connection.server);
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
            .job = connection.job,
            .ends = {destination, source, connection.destination_port, connection.socket_port},
            .opened_at = queue().now(),
            .bytes_per_second = connection.server.bytes_per_second});
  of_host_[connection.client.host.index()].push_back(number);
  of_host_[connection.server.host.index()].push_back(number);
  if (surroundings_.rerouted) surroundings_.rerouted(number);
  CheckEnds(number);
  if (!is_reported) Report(number, connection.socket_port, 0);
  AskAboutAccepted(number);
}

void VirtualConnections::Report(uint64_t number, uint16_t port, int32_t error) {
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

void VirtualConnections::Leave(uint64_t number) {
  const auto found = questions_.find(number);
  if (found == questions_.end()) return;
  const Question question = found->second;
  questions_.erase(found);
  queue().After(Milliseconds(0.01, 0.05), [this, number, host = question.host, mine = question.agent] {
    if (agent(host).incarnation() == mine) agent(host).Deliver(agent::ProcessLeft{number});
  });
}

void VirtualConnections::AskAboutAccepted(uint64_t number) {
  const VirtualConnection& connection = connections_[number];
  const HostId host = connection.server.host;
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
                                           .job = connection.job,
                                           .source = AddressOf(connection.server),
                                           .destination = AddressOf(connection.client),
                                           .source_port = connection.destination_port,
                                           .destination_port = connection.socket_port});
}

// ---- Closing ----

void VirtualConnections::CloseEnd(const ConnectionEnd& end) {
  if (end.inode != 0) kernel(end.host).Remove(queue().now(), end.inode);
}

void VirtualConnections::Close(uint64_t number) {
  VirtualConnection& connection = connections_[number];
  if (std::exchange(connection.is_closed, true)) return;
  Leave(std::exchange(connection.question, 0));
  queue().Log([&] { return "close " + Describe(connection); });
  // One end goes first; the other one is closed by its last packet.
  const bool client_first = random_->Below(2) == 0;
  CloseEnd(client_first ? connection.client : connection.server);
  queue().After(Milliseconds(0.1, 20), [this, number] {
    CloseEnd(connections_[number].client);
    CloseEnd(connections_[number].server);
  });
  for (const HostId host : {connection.client.host, connection.server.host}) {
    std::erase(of_host_[host.index()], number);
  }
}

// ---- Packets ----

std::string VirtualConnections::Describe(const VirtualConnection& connection) const {
  return fmt::format("{}: {} port {} -> {} port {}", connection.job,
                     surroundings_.network->HostName(connection.client.host), connection.socket_port,
                     surroundings_.network->HostName(connection.server.host), connection.destination_port);
}

void VirtualConnections::CheckPackets(HostId host) {
  for (const uint64_t number : of_host_[host.index()]) CheckEnds(number);
}

void VirtualConnections::CheckEnds(uint64_t number) {
  VirtualConnection& connection = connections_[number];
  CheckEnd(number, &connection.client, connection.server);
  CheckEnd(number, &connection.server, connection.client);
}

void VirtualConnections::CheckEnd(uint64_t number, ConnectionEnd* from, const ConnectionEnd& to) {
  const VirtualConnection& connection = connections_[number];
  const VirtualSocket* socket = kernel(from->host).Find(from->inode);
  if (socket == nullptr || kernel(to.host).Find(to.inode) == nullptr) return;
  const uint16_t wire_port = kernel(from->host).WirePortOf(socket->ends);
  if (wire_port != from->wire_port) {
    ++num_moved_;
    from->old_wire_port = std::exchange(from->wire_port, wire_port);
    from->old_until = queue().now() + kPacketLife;
    if (surroundings_.rerouted) surroundings_.rerouted(number);
  }
  CheckPort(connection, *from, to, socket->ends, wire_port);
  if (from->old_wire_port != 0 && queue().now() < from->old_until) {
    CheckPort(connection, *from, to, socket->ends, from->old_wire_port);
  }
}

void VirtualConnections::CheckPort(const VirtualConnection& connection, const ConnectionEnd& from,
                                   const ConnectionEnd& to, const SocketPair& ends, uint16_t wire_port) {
  const uint16_t shown = kernel(to.host).ShownPortOf(ends.local, ends.remote, wire_port, ends.remote_port);
  if (shown == ends.local_port) return;
  const auto& is_hostile = surroundings_.is_hostile;
  if (is_hostile && (is_hostile(from.host) || is_hostile(to.host))) return;
  const VirtualSocket* socket = kernel(from.host).Find(from.inode);
  if (surroundings_.agents[from.host.index()]->MayHaveStaleRules(socket->opened_at)) return;
  surroundings_.violate({queue().now(), "a packet reaches its socket",
                         fmt::format("{}: a packet from {} with port {} on the wire arrives as from port {}, not {}",
                                     Describe(connection), surroundings_.network->HostName(from.host), wire_port, shown,
                                     ends.local_port)});
}

}  // namespace fairlead::sim::hosts
