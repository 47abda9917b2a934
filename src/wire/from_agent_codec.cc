#include <fairlead/v1/agent.pb.h>
#include <fmt/format.h>

#include <limits>
#include <utility>

#include "wire/field_codec.h"
#include "wire/host_message_codec.h"
#include "wire/process_codec.h"
#include "wire/proto_arena.h"

namespace fairlead::wire {
namespace {

using namespace controller;  // NOLINT(google-build-using-namespace): the messages, which are on every line

// ---- To protobuf ----

void Write(const HostHello& in, v1::AgentMessage* out) {
  auto* hello = out->mutable_hello();
  hello->set_protocol_version(in.protocol_version);
  hello->set_host(in.host);
  hello->set_agent_version(in.agent_version);
  for (const IpAddress& nic : in.nics) hello->add_nics(WriteAddress(nic));
}

void Write(const Heartbeat& in, v1::AgentMessage* out) { out->mutable_heartbeat()->set_num_leases(in.num_leases); }

void Write(const WantedConnection& in, v1::WantedConnection* out) {
  out->set_connection(in.connection);
  out->set_source(WriteAddress(in.source));
  out->set_destination(WriteAddress(in.destination));
  out->set_num_queue_pairs(in.num_queue_pairs);
  out->set_weight(in.weight);
  out->set_protocol(in.protocol);
  out->set_destination_port(in.destination_port);
}

void Write(const PathsWanted& in, v1::AgentMessage* out) {
  auto* wanted = out->mutable_paths_wanted();
  wanted->set_request(in.request);
  wanted->set_job(in.job);
  for (const WantedConnection& connection : in.connections) Write(connection, wanted->add_connections());
}

void Write(const ConnectionOpened& in, v1::AgentMessage* out) {
  auto* opened = out->mutable_connection_opened();
  opened->set_job(in.job);
  opened->set_connection(in.connection);
  opened->set_queue_pair(in.queue_pair);
  opened->set_socket_port(in.socket_port);
}

void Write(const ConnectionsClosed& in, v1::AgentMessage* out) {
  auto* closed = out->mutable_connections_closed();
  closed->set_job(in.job);
  closed->mutable_connections()->Add(in.connections.begin(), in.connections.end());
}

void Write(const HeldConnection& in, v1::HeldConnection* out) {
  Write(in.wanted, out->mutable_wanted());
  for (const traffic::HeldPath& path : in.queue_pairs) {
    auto* held = out->add_queue_pairs();
    held->set_is_managed(path.is_managed);
    held->set_plane(path.plane);
    held->set_path(path.path);
    held->set_port(path.port);
  }
  for (const uint16_t port : in.socket_ports) out->add_socket_ports(port);
}

void Write(const ConnectionsHeld& in, v1::AgentMessage* out) {
  auto* held = out->mutable_connections_held();
  held->set_job(in.job);
  for (const HeldConnection& connection : in.connections) Write(connection, held->add_connections());
}

void Write(const ProbedRoute& in, v1::ProbedRoute* out) {
  for (const IpAddress& hop : in.hops) out->add_hops(WriteOptionalAddress(hop));
  out->set_sent(in.sent);
  out->set_lost(in.lost);
  out->set_rtt_s(in.rtt.value());
  out->mutable_source_ports()->Add(in.source_ports.begin(), in.source_ports.end());
}

void Write(const PortScanSeen& in, v1::PortScanSeen* out) {
  out->set_source(WriteAddress(in.source));
  out->set_destination(WriteAddress(in.destination));
  out->set_plane(in.plane);
  out->set_protocol(in.protocol);
  out->set_destination_port(in.destination_port);
  out->set_epoch(in.epoch);
  for (const ProbedRoute& route : in.routes) Write(route, out->add_routes());
}

void Write(const ProbesFinished& in, v1::AgentMessage* out) {
  auto* finished = out->mutable_probes_finished();
  finished->set_round(in.round);
  for (const PortScanSeen& scan : in.scans) Write(scan, finished->add_scans());
}

void Write(const ArrivalPrepared& in, v1::AgentMessage* out) {
  out->mutable_arrival_prepared()->set_alias(in.alias);
  out->mutable_arrival_prepared()->set_error(in.error);
}

void Write(const MoveRefused& in, v1::AgentMessage* out) {
  auto* refused = out->mutable_move_refused();
  refused->set_job(in.job);
  refused->set_connection(in.connection);
  refused->set_queue_pair(in.queue_pair);
  refused->set_port(in.port);
  refused->set_wire_port(in.wire_port);
  refused->set_reason(in.reason);
}

void Write(const JobMeasured& in, v1::AgentMessage* out) {
  auto* measured = out->mutable_job_measured();
  measured->set_job(in.job);
  measured->set_num_gpus(in.num_gpus);
  measured->set_iteration_s(in.profile.iteration_time.value());
  measured->set_compute_s(in.profile.compute_time.value());
  measured->set_start_fraction(in.profile.start_fraction);
  measured->set_work_flop(in.profile.work.value());
  measured->set_is_period_unknown(!in.profile.is_period_known);
  measured->mutable_connections()->Add(in.connections.begin(), in.connections.end());
  for (const Bytes bytes : in.profile.flow_bytes) measured->add_connection_bytes(bytes.value());
}

void Write(const AnnouncementFinished& /*in*/, v1::AgentMessage* out) { out->mutable_announcement_finished(); }

void Write(const ProcessesSeen& in, v1::AgentMessage* out) { WriteProcesses(in, out->mutable_processes_seen()); }

// ---- From protobuf ----

// A number with a dimension.
template <class Quantity>
Status ReadQuantity(double value, std::string_view field, Quantity* out) {
  double amount = 0;
  FL_RETURN_IF_ERROR(ReadAmount(value, field, &amount));
  *out = Quantity(amount);
  return OkStatus();
}

Status Read(const v1::HostHello& in, HostHello* out) {
  out->protocol_version = in.protocol_version();
  // The name of a host that speaks another version may have another form: the version is checked first.
  out->host = in.host();
  if (in.protocol_version() == kProtocolVersion) FL_RETURN_IF_ERROR(ReadName(in.host(), "host", &out->host));
  out->agent_version = in.agent_version();
  out->nics.resize(in.nics_size());
  for (int i = 0; i < in.nics_size(); ++i) FL_RETURN_IF_ERROR(ReadAddress(in.nics(i), "nics", &out->nics[i]));
  return OkStatus();
}

Status Read(const v1::Heartbeat& in, Heartbeat* out) {
  out->num_leases = in.num_leases();
  return OkStatus();
}

Status Read(const v1::WantedConnection& in, WantedConnection* out) {
  out->connection = in.connection();
  FL_RETURN_IF_ERROR(ReadAddress(in.source(), "source", &out->source));
  FL_RETURN_IF_ERROR(ReadAddress(in.destination(), "destination", &out->destination));
  out->num_queue_pairs = in.num_queue_pairs();
  FL_RETURN_IF_ERROR(ReadPositive(in.weight(), "weight", &out->weight));
  FL_RETURN_IF_ERROR(ReadProtocol(in.protocol(), "protocol", &out->protocol));
  return ReadPort(in.destination_port(), "destination_port", &out->destination_port);
}

Status Read(const v1::PathsWanted& in, PathsWanted* out) {
  out->request = in.request();
  FL_RETURN_IF_ERROR(ReadJobName(in.job(), "job", &out->job));
  out->connections.resize(in.connections_size());
  for (int i = 0; i < in.connections_size(); ++i) FL_RETURN_IF_ERROR(Read(in.connections(i), &out->connections[i]));
  return OkStatus();
}

Status Read(const v1::ConnectionOpened& in, ConnectionOpened* out) {
  FL_RETURN_IF_ERROR(ReadJobName(in.job(), "job", &out->job));
  out->connection = in.connection();
  out->queue_pair = in.queue_pair();
  return ReadPort(in.socket_port(), "socket_port", &out->socket_port);
}

Status Read(const v1::ConnectionsClosed& in, ConnectionsClosed* out) {
  FL_RETURN_IF_ERROR(ReadJobName(in.job(), "job", &out->job));
  out->connections.assign(in.connections().begin(), in.connections().end());
  return OkStatus();
}

Status Read(const v1::HeldConnection& in, HeldConnection* out) {
  FL_RETURN_IF_ERROR(Read(in.wanted(), &out->wanted));
  if (in.queue_pairs_size() != in.socket_ports_size()) {
    return InvalidArgument(fmt::format("socket_ports: expected one for each of {} queue pairs, found {}",
                                       in.queue_pairs_size(), in.socket_ports_size()));
  }
  out->queue_pairs.resize(in.queue_pairs_size());
  out->socket_ports.resize(in.socket_ports_size());
  for (int i = 0; i < in.queue_pairs_size(); ++i) {
    traffic::HeldPath& path = out->queue_pairs[i];
    path.is_managed = in.queue_pairs(i).is_managed();
    path.plane = in.queue_pairs(i).plane();
    path.path = in.queue_pairs(i).path();
    FL_RETURN_IF_ERROR(ReadPort(in.queue_pairs(i).port(), "port", &path.port));
    FL_RETURN_IF_ERROR(ReadPort(in.socket_ports(i), "socket_ports", &out->socket_ports[i]));
  }
  return OkStatus();
}

Status Read(const v1::ConnectionsHeld& in, ConnectionsHeld* out) {
  FL_RETURN_IF_ERROR(ReadJobName(in.job(), "job", &out->job));
  out->connections.resize(in.connections_size());
  for (int i = 0; i < in.connections_size(); ++i) FL_RETURN_IF_ERROR(Read(in.connections(i), &out->connections[i]));
  return OkStatus();
}

Status Read(const v1::ProbedRoute& in, ProbedRoute* out) {
  out->hops.resize(in.hops_size());
  for (int i = 0; i < in.hops_size(); ++i) FL_RETURN_IF_ERROR(ReadOptionalAddress(in.hops(i), "hops", &out->hops[i]));
  out->sent = in.sent();
  out->lost = in.lost();
  if (out->lost > out->sent) {
    return InvalidArgument(fmt::format("lost: expected at most the {} that were sent, found {}", out->sent, out->lost));
  }
  out->source_ports.resize(in.source_ports_size());
  for (int i = 0; i < in.source_ports_size(); ++i) {
    FL_RETURN_IF_ERROR(ReadPort(in.source_ports(i), "source_ports", &out->source_ports[i]));
  }
  return ReadQuantity(in.rtt_s(), "rtt_s", &out->rtt);
}

Status Read(const v1::PortScanSeen& in, PortScanSeen* out) {
  FL_RETURN_IF_ERROR(ReadAddress(in.source(), "source", &out->source));
  FL_RETURN_IF_ERROR(ReadAddress(in.destination(), "destination", &out->destination));
  out->plane = in.plane();
  FL_RETURN_IF_ERROR(ReadProtocol(in.protocol(), "protocol", &out->protocol));
  FL_RETURN_IF_ERROR(ReadPort(in.destination_port(), "destination_port", &out->destination_port));
  out->epoch = in.epoch();
  out->routes.resize(in.routes_size());
  for (int i = 0; i < in.routes_size(); ++i) FL_RETURN_IF_ERROR(Read(in.routes(i), &out->routes[i]));
  return OkStatus();
}

Status Read(const v1::ProbesFinished& in, ProbesFinished* out) {
  out->round = in.round();
  out->scans.resize(in.scans_size());
  for (int i = 0; i < in.scans_size(); ++i) FL_RETURN_IF_ERROR(Read(in.scans(i), &out->scans[i]));
  return OkStatus();
}

Status Read(const v1::ArrivalPrepared& in, ArrivalPrepared* out) {
  out->alias = in.alias();
  out->error = in.error();
  return OkStatus();
}

Status Read(const v1::MoveRefused& in, MoveRefused* out) {
  FL_RETURN_IF_ERROR(ReadJobName(in.job(), "job", &out->job));
  out->connection = in.connection();
  out->queue_pair = in.queue_pair();
  FL_RETURN_IF_ERROR(ReadPort(in.port(), "port", &out->port));
  FL_RETURN_IF_ERROR(ReadPort(in.wire_port(), "wire_port", &out->wire_port));
  out->reason = in.reason();
  return OkStatus();
}

Status Read(const v1::JobMeasured& in, JobMeasured* out) {
  FL_RETURN_IF_ERROR(ReadJobName(in.job(), "job", &out->job));
  out->num_gpus = in.num_gpus();
  model::MeasuredProfile& profile = out->profile;
  double iteration_s = 0;
  FL_RETURN_IF_ERROR(ReadPositive(in.iteration_s(), "iteration_s", &iteration_s));
  profile.iteration_time = Seconds(iteration_s);
  FL_RETURN_IF_ERROR(ReadQuantity(in.compute_s(), "compute_s", &profile.compute_time));
  FL_RETURN_IF_ERROR(ReadAmount(in.start_fraction(), "start_fraction", &profile.start_fraction));
  if (profile.start_fraction > 1) {
    return InvalidArgument(fmt::format("start_fraction: expected 0 to 1, found {}", profile.start_fraction));
  }
  FL_RETURN_IF_ERROR(ReadQuantity(in.work_flop(), "work_flop", &profile.work));
  profile.is_period_known = !in.is_period_unknown();
  if (in.connections_size() != in.connection_bytes_size()) {
    return InvalidArgument(fmt::format("connection_bytes: expected one for each of {} connections, found {}",
                                       in.connections_size(), in.connection_bytes_size()));
  }
  out->connections.assign(in.connections().begin(), in.connections().end());
  profile.flow_bytes.resize(in.connection_bytes_size());
  for (int i = 0; i < in.connection_bytes_size(); ++i) {
    FL_RETURN_IF_ERROR(ReadQuantity(in.connection_bytes(i), "connection_bytes", &profile.flow_bytes[i]));
  }
  return OkStatus();
}

Status Read(const v1::AnnouncementFinished& /*in*/, AnnouncementFinished* /*out*/) { return OkStatus(); }

Status Read(const v1::ProcessesSeen& in, ProcessesSeen* out) { return ReadProcesses(in, out); }

template <class Message, class Proto>
Result<FromAgent> ReadFromAgent(const Proto& in) {
  Message message;
  FL_RETURN_IF_ERROR(Read(in, &message));
  return FromAgent(std::move(message));
}

Result<FromAgent> ReadMessage(const v1::AgentMessage& proto) {
  switch (proto.kind_case()) {
    case v1::AgentMessage::kHello:
      return ReadFromAgent<HostHello>(proto.hello());
    case v1::AgentMessage::kHeartbeat:
      return ReadFromAgent<Heartbeat>(proto.heartbeat());
    case v1::AgentMessage::kPathsWanted:
      return ReadFromAgent<PathsWanted>(proto.paths_wanted());
    case v1::AgentMessage::kConnectionOpened:
      return ReadFromAgent<ConnectionOpened>(proto.connection_opened());
    case v1::AgentMessage::kConnectionsClosed:
      return ReadFromAgent<ConnectionsClosed>(proto.connections_closed());
    case v1::AgentMessage::kConnectionsHeld:
      return ReadFromAgent<ConnectionsHeld>(proto.connections_held());
    case v1::AgentMessage::kProbesFinished:
      return ReadFromAgent<ProbesFinished>(proto.probes_finished());
    case v1::AgentMessage::kArrivalPrepared:
      return ReadFromAgent<ArrivalPrepared>(proto.arrival_prepared());
    case v1::AgentMessage::kMoveRefused:
      return ReadFromAgent<MoveRefused>(proto.move_refused());
    case v1::AgentMessage::kJobMeasured:
      return ReadFromAgent<JobMeasured>(proto.job_measured());
    case v1::AgentMessage::kAnnouncementFinished:
      return ReadFromAgent<AnnouncementFinished>(proto.announcement_finished());
    case v1::AgentMessage::kProcessesSeen:
      return ReadFromAgent<ProcessesSeen>(proto.processes_seen());
    case v1::AgentMessage::KIND_NOT_SET:
      break;
  }
  return InvalidArgument("expected one kind of message of an agent, found none that this version knows");
}

}  // namespace

std::string WriteFromAgent(const FromAgent& message) {
  ProtoArena arena;
  auto* messages = arena.Create<v1::AgentBatch>();
  std::visit([&](const auto& kind) { Write(kind, messages->add_messages()); }, message);
  return messages->SerializeAsString();
}

Result<std::vector<FromAgent>> ReadFromAgent(std::string_view bytes) {
  SilenceLibrary();
  ProtoArena arena;
  auto* proto = arena.Create<v1::AgentBatch>();
  if (bytes.size() > kMessageBytesMax || !proto->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return InvalidArgument(fmt::format("expected a message of an agent, found {} bytes that are none", bytes.size()));
  }
  if (proto->messages().empty()) return InvalidArgument("expected a message of an agent, found no message in it");
  std::vector<FromAgent> messages;
  messages.reserve(static_cast<size_t>(proto->messages_size()));
  for (const v1::AgentMessage& message : proto->messages()) {
    FL_ASSIGN_OR_RETURN(FromAgent read, ReadMessage(message));
    messages.push_back(std::move(read));
  }
  return messages;
}

}  // namespace fairlead::wire
