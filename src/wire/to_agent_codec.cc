#include <fairlead/v1/agent.pb.h>
#include <fmt/format.h>

#include <utility>

#include "wire/field_codec.h"
#include "wire/host_message_codec.h"
#include "wire/proto_arena.h"

namespace fairlead::wire {
namespace {

using namespace controller;  // NOLINT(google-build-using-namespace): the messages, which are on every line

// The schema's enumerators are ours plus one: 0 means that the field is not set.
v1::AnswerKind WriteKind(traffic::QueuePairAnswer::Kind kind) {
  return static_cast<v1::AnswerKind>(static_cast<int>(kind) + 1);
}
static_assert(v1::ANSWER_KIND_USE == static_cast<int>(traffic::QueuePairAnswer::Kind::kUse) + 1);
static_assert(v1::ANSWER_KIND_SCAN == static_cast<int>(traffic::QueuePairAnswer::Kind::kScan) + 1);
static_assert(v1::ANSWER_KIND_NO_PORT == static_cast<int>(traffic::QueuePairAnswer::Kind::kNoPort) + 1);
static_assert(v1::ANSWER_KIND_UNMANAGED == static_cast<int>(traffic::QueuePairAnswer::Kind::kUnmanaged) + 1);

Status ReadKind(int kind, traffic::QueuePairAnswer::Kind* out) {
  if (kind < v1::ANSWER_KIND_USE || kind > v1::ANSWER_KIND_UNMANAGED) {
    return InvalidArgument(fmt::format("kind: expected one that this version knows, found {}", kind));
  }
  *out = static_cast<traffic::QueuePairAnswer::Kind>(kind - 1);
  return OkStatus();
}

v1::MoveCause WriteCause(traffic::MoveCause cause) { return static_cast<v1::MoveCause>(static_cast<int>(cause) + 1); }
static_assert(v1::MOVE_CAUSE_LINK_DOWN == static_cast<int>(traffic::MoveCause::kLinkDown) + 1);
static_assert(v1::MOVE_CAUSE_LINK_BACK == static_cast<int>(traffic::MoveCause::kLinkBack) + 1);
static_assert(v1::MOVE_CAUSE_LINK_DEGRADED == static_cast<int>(traffic::MoveCause::kLinkDegraded) + 1);
static_assert(v1::MOVE_CAUSE_IMBALANCE == static_cast<int>(traffic::MoveCause::kImbalance) + 1);
static_assert(v1::MOVE_CAUSE_PATH_AVAILABLE == static_cast<int>(traffic::MoveCause::kPathAvailable) + 1);
static_assert(v1::MOVE_CAUSE_STRANDED == static_cast<int>(traffic::MoveCause::kStranded) + 1);
static_assert(v1::MOVE_CAUSE_PORT_FOUND == static_cast<int>(traffic::MoveCause::kPortFound) + 1);
static_assert(v1::MOVE_CAUSE_REPINNED == static_cast<int>(traffic::MoveCause::kRepinned) + 1);
static_assert(v1::MOVE_CAUSE_NO_PORT == static_cast<int>(traffic::MoveCause::kNoPort) + 1);
static_assert(v1::MOVE_CAUSE_CORRECTED == static_cast<int>(traffic::MoveCause::kCorrected) + 1);
static_assert(v1::MoveCause_MAX == traffic::kNumMoveCauses);

Status ReadCause(int cause, traffic::MoveCause* out) {
  if (cause < v1::MOVE_CAUSE_LINK_DOWN || cause > v1::MoveCause_MAX) {
    return InvalidArgument(fmt::format("cause: expected one that this version knows, found {}", cause));
  }
  *out = static_cast<traffic::MoveCause>(cause - 1);
  return OkStatus();
}

// ---- To protobuf ----

void Write(const Welcome& in, v1::ControllerMessage* out) {
  auto* welcome = out->mutable_welcome();
  welcome->set_controller_version(in.controller_version);
  welcome->set_heartbeat_period_ns(in.heartbeat_period.ns());
  welcome->set_lease_ttl_ns(in.lease_ttl.ns());
}

void Write(const Refused& in, v1::ControllerMessage* out) { out->mutable_refused()->set_reason(in.reason); }

void Write(const traffic::QueuePairAnswer& in, v1::QueuePairAnswer* out) {
  out->set_kind(WriteKind(in.kind));
  out->set_plane(in.plane);
  out->set_path(in.path);
  out->set_port(in.port);
  out->set_epoch(in.epoch);
}

void Write(const PathsAnswered& in, v1::ControllerMessage* out) {
  auto* answered = out->mutable_paths_answered();
  answered->set_request(in.request);
  answered->set_job(in.job);
  for (const traffic::ConnectionAnswer& connection : in.connections) {
    auto* answer = answered->add_connections();
    answer->set_connection(connection.connection);
    answer->set_reason(connection.reason);
    for (const traffic::QueuePairAnswer& queue_pair : connection.queue_pairs) {
      Write(queue_pair, answer->add_queue_pairs());
    }
  }
  answered->set_level(in.level);
}

void Write(const PathsChanged& in, v1::ControllerMessage* out) {
  auto* changed = out->mutable_paths_changed();
  for (const QueuePairChanged& change : in.changes) {
    auto* proto = changed->add_changes();
    proto->set_job(change.job);
    proto->set_connection(change.connection);
    proto->set_queue_pair(change.queue_pair);
    Write(change.answer, proto->mutable_answer());
    proto->set_cause(WriteCause(change.cause));
    proto->set_is_prepared(change.is_prepared);
  }
}

void Write(const PortScanWanted& in, v1::PortScanWanted* out) {
  out->set_source(WriteAddress(in.source));
  out->set_destination(WriteAddress(in.destination));
  out->set_plane(in.plane);
  out->set_protocol(in.protocol);
  out->set_destination_port(in.destination_port);
  out->set_epoch(in.epoch);
  for (const uint16_t port : in.source_ports) out->add_source_ports(port);
}

void Write(const ProbesWanted& in, v1::ControllerMessage* out) {
  auto* wanted = out->mutable_probes_wanted();
  wanted->set_round(in.round);
  for (const PortScanWanted& scan : in.scans) Write(scan, wanted->add_scans());
}

void Write(const PrepareArrival& in, v1::ControllerMessage* out) {
  auto* prepare = out->mutable_prepare_arrival();
  prepare->set_alias(in.alias);
  prepare->set_source(WriteAddress(in.source));
  prepare->set_destination(WriteAddress(in.destination));
  prepare->set_protocol(in.protocol);
  prepare->set_destination_port(in.destination_port);
  prepare->set_socket_port(in.socket_port);
  prepare->set_wire_port(in.wire_port);
}

void Write(const ForgetArrival& in, v1::ControllerMessage* out) { out->mutable_forget_arrival()->set_alias(in.alias); }

void Write(const AnnouncementWanted& /*in*/, v1::ControllerMessage* out) { out->mutable_announcement_wanted(); }

void Write(const LevelSet& in, v1::ControllerMessage* out) {
  auto* level = out->mutable_level_set();
  level->set_job(in.job);
  level->set_level(in.level);
  level->set_reason(in.reason);
}

void Write(const HostJudged& in, v1::ControllerMessage* out) {
  auto* judged = out->mutable_host_judged();
  for (const HostJudged::Finding& finding : in.findings) {
    auto* proto = judged->add_findings();
    proto->set_job(finding.job);
    proto->set_syndrome(static_cast<uint32_t>(finding.syndrome));
    proto->set_text(finding.text);
    proto->set_action(static_cast<uint32_t>(finding.action));
  }
}

// ---- From protobuf ----

Status Read(const v1::Welcome& in, Welcome* out) {
  out->controller_version = in.controller_version();
  FL_RETURN_IF_ERROR(ReadPeriod(in.heartbeat_period_ns(), "heartbeat_period_ns", &out->heartbeat_period));
  return ReadPeriod(in.lease_ttl_ns(), "lease_ttl_ns", &out->lease_ttl);
}

Status Read(const v1::Refused& in, Refused* out) {
  out->reason = in.reason();
  return OkStatus();
}

Status Read(const v1::QueuePairAnswer& in, traffic::QueuePairAnswer* out) {
  FL_RETURN_IF_ERROR(ReadKind(in.kind(), &out->kind));
  out->plane = in.plane();
  out->path = in.path();
  out->epoch = in.epoch();
  return ReadPort(in.port(), "port", &out->port);
}

Status Read(const v1::ConnectionAnswer& in, traffic::ConnectionAnswer* out) {
  out->connection = in.connection();
  out->reason = in.reason();
  out->queue_pairs.resize(in.queue_pairs_size());
  for (int i = 0; i < in.queue_pairs_size(); ++i) FL_RETURN_IF_ERROR(Read(in.queue_pairs(i), &out->queue_pairs[i]));
  return OkStatus();
}

Status Read(const v1::PathsAnswered& in, PathsAnswered* out) {
  out->request = in.request();
  FL_RETURN_IF_ERROR(ReadName(in.job(), "job", &out->job));
  out->connections.resize(in.connections_size());
  for (int i = 0; i < in.connections_size(); ++i) FL_RETURN_IF_ERROR(Read(in.connections(i), &out->connections[i]));
  out->level = in.level();
  return OkStatus();
}

Status Read(const v1::PathsChanged& in, PathsChanged* out) {
  out->changes.resize(in.changes_size());
  for (int i = 0; i < in.changes_size(); ++i) {
    const v1::QueuePairChanged& proto = in.changes(i);
    QueuePairChanged& change = out->changes[i];
    FL_RETURN_IF_ERROR(ReadName(proto.job(), "job", &change.job));
    change.connection = proto.connection();
    change.queue_pair = proto.queue_pair();
    FL_RETURN_IF_ERROR(Read(proto.answer(), &change.answer));
    FL_RETURN_IF_ERROR(ReadCause(proto.cause(), &change.cause));
    change.is_prepared = proto.is_prepared();
  }
  return OkStatus();
}

Status Read(const v1::PortScanWanted& in, PortScanWanted* out) {
  FL_RETURN_IF_ERROR(ReadAddress(in.source(), "source", &out->source));
  FL_RETURN_IF_ERROR(ReadAddress(in.destination(), "destination", &out->destination));
  out->plane = in.plane();
  FL_RETURN_IF_ERROR(ReadProtocol(in.protocol(), "protocol", &out->protocol));
  FL_RETURN_IF_ERROR(ReadPort(in.destination_port(), "destination_port", &out->destination_port));
  out->epoch = in.epoch();
  out->source_ports.resize(in.source_ports_size());
  for (int i = 0; i < in.source_ports_size(); ++i) {
    FL_RETURN_IF_ERROR(ReadPort(in.source_ports(i), "source_ports", &out->source_ports[i]));
  }
  return OkStatus();
}

Status Read(const v1::ProbesWanted& in, ProbesWanted* out) {
  out->round = in.round();
  out->scans.resize(in.scans_size());
  for (int i = 0; i < in.scans_size(); ++i) FL_RETURN_IF_ERROR(Read(in.scans(i), &out->scans[i]));
  return OkStatus();
}

Status Read(const v1::PrepareArrival& in, PrepareArrival* out) {
  out->alias = in.alias();
  FL_RETURN_IF_ERROR(ReadAddress(in.source(), "source", &out->source));
  FL_RETURN_IF_ERROR(ReadAddress(in.destination(), "destination", &out->destination));
  FL_RETURN_IF_ERROR(ReadProtocol(in.protocol(), "protocol", &out->protocol));
  FL_RETURN_IF_ERROR(ReadPort(in.destination_port(), "destination_port", &out->destination_port));
  FL_RETURN_IF_ERROR(ReadPort(in.socket_port(), "socket_port", &out->socket_port));
  return ReadPort(in.wire_port(), "wire_port", &out->wire_port);
}

Status Read(const v1::ForgetArrival& in, ForgetArrival* out) {
  out->alias = in.alias();
  return OkStatus();
}

Status Read(const v1::AnnouncementWanted& /*in*/, AnnouncementWanted* /*out*/) { return OkStatus(); }

Status Read(const v1::LevelSet& in, LevelSet* out) {
  FL_RETURN_IF_ERROR(ReadName(in.job(), "job", &out->job));
  out->level = in.level();
  out->reason = in.reason();
  return OkStatus();
}

Status Read(const v1::HostJudged& in, HostJudged* out) {
  out->findings.resize(in.findings_size());
  for (int i = 0; i < in.findings_size(); ++i) {
    HostJudged::Finding& finding = out->findings[i];
    FL_RETURN_IF_ERROR(ReadName(in.findings(i).job(), "job", &finding.job));
    FL_RETURN_IF_ERROR(
        ReadEnumerator(in.findings(i).syndrome(), model::Syndrome::kMismatch, "syndrome", &finding.syndrome));
    finding.text = in.findings(i).text();
    FL_RETURN_IF_ERROR(
        ReadEnumerator(in.findings(i).action(), model::RecommendedAction::kRepairPath, "action", &finding.action));
  }
  return OkStatus();
}

template <class Message, class Proto>
Result<ToAgent> ReadToAgent(const Proto& in) {
  Message message;
  FL_RETURN_IF_ERROR(Read(in, &message));
  return ToAgent(std::move(message));
}

Result<ToAgent> ReadMessage(const v1::ControllerMessage& proto) {
  switch (proto.kind_case()) {
    case v1::ControllerMessage::kWelcome:
      return ReadToAgent<Welcome>(proto.welcome());
    case v1::ControllerMessage::kRefused:
      return ReadToAgent<Refused>(proto.refused());
    case v1::ControllerMessage::kPathsAnswered:
      return ReadToAgent<PathsAnswered>(proto.paths_answered());
    case v1::ControllerMessage::kPathsChanged:
      return ReadToAgent<PathsChanged>(proto.paths_changed());
    case v1::ControllerMessage::kProbesWanted:
      return ReadToAgent<ProbesWanted>(proto.probes_wanted());
    case v1::ControllerMessage::kPrepareArrival:
      return ReadToAgent<PrepareArrival>(proto.prepare_arrival());
    case v1::ControllerMessage::kForgetArrival:
      return ReadToAgent<ForgetArrival>(proto.forget_arrival());
    case v1::ControllerMessage::kAnnouncementWanted:
      return ReadToAgent<AnnouncementWanted>(proto.announcement_wanted());
    case v1::ControllerMessage::kLevelSet:
      return ReadToAgent<LevelSet>(proto.level_set());
    case v1::ControllerMessage::kHostJudged:
      return ReadToAgent<HostJudged>(proto.host_judged());
    case v1::ControllerMessage::KIND_NOT_SET:
      break;
  }
  return InvalidArgument("expected one kind of message of the controller, found none that this version knows");
}

}  // namespace

std::string WriteToAgent(const ToAgent& message) {
  ProtoArena arena;
  auto* messages = arena.Create<v1::ControllerBatch>();
  std::visit([&](const auto& kind) { Write(kind, messages->add_messages()); }, message);
  return messages->SerializeAsString();
}

Result<std::vector<ToAgent>> ReadToAgent(std::string_view bytes) {
  SilenceLibrary();
  ProtoArena arena;
  auto* proto = arena.Create<v1::ControllerBatch>();
  if (bytes.size() > kMessageBytesMax || !proto->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return InvalidArgument(
        fmt::format("expected a message of the controller, found {} bytes that are none", bytes.size()));
  }
  if (proto->messages().empty()) return InvalidArgument("expected a message of the controller, found no message in it");
  std::vector<ToAgent> messages;
  messages.reserve(static_cast<size_t>(proto->messages_size()));
  for (const v1::ControllerMessage& message : proto->messages()) {
    FL_ASSIGN_OR_RETURN(ToAgent read, ReadMessage(message));
    messages.push_back(std::move(read));
  }
  return messages;
}

}  // namespace fairlead::wire
