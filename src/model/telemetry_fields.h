// The telemetry records' fields (codec/record.h): names in recordings, numbers in messages of agents.
//
// Names and numbers never change meaning; new fields may come with a new version.
#pragma once

#include "codec/record.h"
#include "model/telemetry.h"

namespace fairlead::codec {

template <>
inline constexpr uint64_t kNumEnumerators<model::OperationKind> = model::kNumOperationKinds;
template <>
inline constexpr uint64_t kNumEnumerators<model::Direction> = 2;
template <>
inline constexpr uint64_t kNumEnumerators<model::TransferPhase> = 7;
template <>
inline constexpr uint64_t kNumEnumerators<model::ProcessState> = 3;
template <>
inline constexpr uint64_t kNumEnumerators<model::ThreadState> = 5;
template <>
inline constexpr uint64_t kNumEnumerators<model::ProcessEnd> = 3;
template <>
inline constexpr uint64_t kNumEnumerators<model::HostSymptom> = 10;

}  // namespace fairlead::codec

namespace fairlead::model {

template <class Archive, codec::IsRecord<RankPlace> Record>
void Describe(Archive& archive, Record& place) {
  archive.Required("host", place.host);
  archive.Optional("gpu", place.gpu);
  archive.Optional("nic", place.nic);
  archive.Optional("leaves", place.leaves);
}

template <class Archive, codec::IsRecord<Communicator> Record>
void Describe(Archive& archive, Record& communicator) {
  archive.Optional("name", communicator.name);
  archive.Required("ranks", communicator.ranks);
}

template <class Archive, codec::IsRecord<JobLayout> Record>
void Describe(Archive& archive, Record& layout) {
  archive.Optional("job", layout.job);
  archive.Required("ranks", layout.ranks);
  archive.Required("communicators", layout.communicators);
}

template <class Archive, codec::IsRecord<OperationRecord> Record>
void Describe(Archive& archive, Record& operation) {
  archive.Required(1, "communicator", operation.communicator);
  archive.Required(2, "kind", operation.kind);
  archive.Optional(3, "sequence", operation.sequence);
  archive.Optional(4, "index", operation.issue_index);
  archive.Optional(5, "bytes", operation.bytes);
  archive.Optional(6, "type", operation.data_type);
  archive.Required(7, "root", operation.root);
  archive.Optional(8, "peer", operation.peer);
  archive.Required(9, "enqueued", operation.enqueued);
  archive.Optional(10, "started", operation.started);
  archive.Optional(11, "finished", operation.finished);
}

template <class Archive, codec::IsRecord<ProgressRecord> Record>
void Describe(Archive& archive, Record& progress) {
  archive.Required(1, "communicator", progress.communicator);
  archive.Required(2, "kind", progress.kind);
  archive.Optional(3, "peer", progress.peer);
  archive.Optional(4, "enqueued", progress.enqueued);
  archive.Optional(5, "started", progress.started);
  archive.Optional(6, "finished", progress.finished);
}

template <class Archive, codec::IsRecord<ConnectionKey> Record>
void Describe(Archive& archive, Record& key) {
  archive.Required(1, "communicator", key.communicator);
  archive.Optional(2, "channel", key.channel);
  archive.Optional(3, "plane", key.plane);
  archive.Required(4, "direction", key.direction);
  archive.Required(5, "peer", key.peer);
}

template <class Archive, codec::IsRecord<ConnectionRecord> Record>
void Describe(Archive& archive, Record& connection) {
  archive.Inline("key", connection.key);
  archive.Optional(6, "messages", connection.messages);
  archive.Optional(7, "bytes", connection.bytes);
  archive.Optional(8, "wire_time", connection.wire_time);
  archive.Optional(9, "wire_time_max", connection.wire_time_max);
  archive.Optional(10, "wire_time_bins", connection.wire_time_bins);
  archive.Optional(11, "wait_for_gpu", connection.wait_for_gpu);
  archive.Optional(12, "wait_for_peer", connection.wait_for_peer);
  archive.Optional(13, "in_flight", connection.in_flight);
  archive.Optional(14, "phase", connection.phase);
  archive.Optional(15, "phase_since", connection.phase_since);
  archive.Optional(16, "last_progress", connection.last_progress);
}

template <class Archive, codec::IsRecord<ThreadGroup> Record>
void Describe(Archive& archive, Record& group) {
  archive.Required(1, "name", group.name);
  archive.Required(2, "state", group.state);
  archive.Optional(3, "place", group.place);
  archive.Required(4, "count", group.count);
  archive.Optional(5, "is_first", group.is_first);
}

template <class Archive, codec::IsRecord<RankReport> Record>
void Describe(Archive& archive, Record& report) {
  archive.Optional("job", report.job);
  archive.Required("rank", report.rank);
  archive.Required("number", report.number);
  archive.Required("at", report.at);
  archive.Optional("operations", report.operations);
  archive.Optional("operations_since", report.operations_since);
  archive.Optional("progress", report.progress);
  archive.Optional("connections", report.connections);
  archive.Optional("busy_connections", report.busy_connections);
  archive.Optional("is_finalizing", report.is_finalizing);
  archive.Optional("threads", report.threads);
}

template <class Archive, codec::IsRecord<RankLiveness> Record>
void Describe(Archive& archive, Record& liveness) {
  archive.Required("rank", liveness.rank);
  archive.Optional("state", liveness.state);
  archive.Optional("exit_code", liveness.exit.code);
  archive.Optional("end", liveness.exit.end);
  archive.Optional("ended_at", liveness.exit.at);
  archive.Optional("ended_within", liveness.exit.within);
}

template <class Archive, codec::IsRecord<HostSymptomRecord> Record>
void Describe(Archive& archive, Record& symptom) {
  archive.Required(1, "symptom", symptom.symptom);
  archive.Optional(2, "device", symptom.device);
  archive.Optional(3, "text", symptom.text);
}

template <class Archive, codec::IsRecord<HostReport> Record>
void Describe(Archive& archive, Record& report) {
  archive.Optional("job", report.job);
  archive.Required("host", report.host);
  archive.Required("number", report.number);
  archive.Required("at", report.at);
  archive.Optional("ranks", report.ranks);
  archive.Optional("symptoms", report.symptoms);
}

}  // namespace fairlead::model
