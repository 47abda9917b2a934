// The telemetry records as JSON: names of members, which of them are required, and what they look like.
//
// Instants and durations are nanoseconds, enumerations and ids numbers; an invalid id and every other default is left
// out. Names and numbers never change meaning; new members may come with a new version.
#pragma once

#include "model/telemetry.h"
#include "telemetry/json_fields.h"

namespace fairlead::telemetry {

template <>
inline constexpr uint64_t kNumEnumerators<model::OperationKind> = model::kNumOperationKinds;
template <>
inline constexpr uint64_t kNumEnumerators<model::Direction> = 2;
template <>
inline constexpr uint64_t kNumEnumerators<model::TransferPhase> = 7;
template <>
inline constexpr uint64_t kNumEnumerators<model::ProcessState> = 3;
template <>
inline constexpr uint64_t kNumEnumerators<model::HostSymptom> = 6;

template <class Archive, IsRecord<model::RankPlace> Record>
void Describe(Archive& archive, Record& place) {
  archive.Required("host", place.host);
  archive.Optional("gpu", place.gpu);
  archive.Optional("nic", place.nic);
  archive.Optional("leaves", place.leaves);
}

template <class Archive, IsRecord<model::Communicator> Record>
void Describe(Archive& archive, Record& communicator) {
  archive.Optional("name", communicator.name);
  archive.Required("ranks", communicator.ranks);
}

template <class Archive, IsRecord<model::JobLayout> Record>
void Describe(Archive& archive, Record& layout) {
  archive.Optional("job", layout.job);
  archive.Required("ranks", layout.ranks);
  archive.Required("communicators", layout.communicators);
}

template <class Archive, IsRecord<model::OperationRecord> Record>
void Describe(Archive& archive, Record& operation) {
  archive.Required("communicator", operation.communicator);
  archive.Required("kind", operation.kind);
  archive.Optional("sequence", operation.sequence);
  archive.Optional("index", operation.issue_index);
  archive.Optional("bytes", operation.bytes);
  archive.Optional("type", operation.data_type);
  archive.Required("root", operation.root);
  archive.Optional("peer", operation.peer);
  archive.Required("enqueued", operation.enqueued);
  archive.Optional("started", operation.started);
  archive.Optional("finished", operation.finished);
}

template <class Archive, IsRecord<model::ProgressRecord> Record>
void Describe(Archive& archive, Record& progress) {
  archive.Required("communicator", progress.communicator);
  archive.Required("kind", progress.kind);
  archive.Optional("peer", progress.peer);
  archive.Optional("enqueued", progress.enqueued);
  archive.Optional("started", progress.started);
  archive.Optional("finished", progress.finished);
}

template <class Archive, IsRecord<model::ConnectionKey> Record>
void Describe(Archive& archive, Record& key) {
  archive.Required("communicator", key.communicator);
  archive.Optional("channel", key.channel);
  archive.Optional("plane", key.plane);
  archive.Required("direction", key.direction);
  archive.Required("peer", key.peer);
}

template <class Archive, IsRecord<model::ConnectionRecord> Record>
void Describe(Archive& archive, Record& connection) {
  archive.Required("key", connection.key);
  archive.Optional("messages", connection.messages);
  archive.Optional("bytes", connection.bytes);
  archive.Optional("wire_time", connection.wire_time);
  archive.Optional("wire_time_max", connection.wire_time_max);
  archive.Optional("wire_time_bins", connection.wire_time_bins);
  archive.Optional("wait_for_gpu", connection.wait_for_gpu);
  archive.Optional("wait_for_peer", connection.wait_for_peer);
  archive.Optional("in_flight", connection.in_flight);
  archive.Optional("phase", connection.phase);
  archive.Optional("phase_since", connection.phase_since);
  archive.Optional("last_progress", connection.last_progress);
}

template <class Archive, IsRecord<model::RankReport> Record>
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
}

template <class Archive, IsRecord<model::RankLiveness> Record>
void Describe(Archive& archive, Record& liveness) {
  archive.Required("rank", liveness.rank);
  archive.Optional("state", liveness.state);
  archive.Optional("exit_code", liveness.exit_code);
}

template <class Archive, IsRecord<model::HostSymptomRecord> Record>
void Describe(Archive& archive, Record& symptom) {
  archive.Required("symptom", symptom.symptom);
  archive.Optional("device", symptom.device);
  archive.Optional("text", symptom.text);
}

template <class Archive, IsRecord<model::HostReport> Record>
void Describe(Archive& archive, Record& report) {
  archive.Optional("job", report.job);
  archive.Required("host", report.host);
  archive.Required("number", report.number);
  archive.Required("at", report.at);
  archive.Optional("ranks", report.ranks);
  archive.Optional("symptoms", report.symptoms);
}

}  // namespace fairlead::telemetry
