#include "wire/process_codec.h"

#include <fairlead/v1/agent.pb.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "telemetry/process_report.h"
#include "wire/field_codec.h"

namespace fairlead::wire {
namespace {

using model::CommunicatorId;
using model::ConnectionRecord;
using model::OperationKind;
using model::OperationRecord;
using model::ProgressRecord;
using model::RankId;
using telemetry::ProcessCommunicator;
using telemetry::ProcessReport;
using telemetry::SeenProcess;

// ---- To protobuf ----

void Write(const ProcessCommunicator& in, v1::ProcessCommunicator* out) {
  out->set_id(in.id);
  out->set_name(in.name);
  out->set_num_ranks(in.num_ranks);
  out->set_rank(in.rank);
  out->set_is_finalized(in.is_finalized);
}

void Write(const OperationRecord& in, v1::OperationRecord* out) {
  out->set_communicator(in.communicator.value());
  out->set_kind(static_cast<uint32_t>(in.kind));
  out->set_sequence(in.sequence);
  out->set_issue_index(in.issue_index);
  out->set_bytes(in.bytes);
  out->set_data_type(in.data_type);
  out->set_root(in.root);
  if (in.peer.valid()) out->set_peer(in.peer.value());
  out->set_enqueued_ns(in.enqueued.ns());
  if (in.started.has_value()) out->set_started_ns(in.started->ns());
  if (in.finished.has_value()) out->set_finished_ns(in.finished->ns());
}

void Write(const ProgressRecord& in, v1::ProgressRecord* out) {
  out->set_communicator(in.communicator.value());
  out->set_kind(static_cast<uint32_t>(in.kind));
  if (in.peer.valid()) out->set_peer(in.peer.value());
  out->set_enqueued(in.enqueued);
  out->set_started(in.started);
  out->set_finished(in.finished);
}

void Write(const ConnectionRecord& in, v1::ConnectionRecord* out) {
  out->set_communicator(in.key.communicator.value());
  out->set_channel(in.key.channel);
  out->set_plane(in.key.plane);
  out->set_direction(static_cast<uint32_t>(in.key.direction));
  out->set_peer(in.key.peer.value());
  out->set_messages(in.messages);
  out->set_bytes(in.bytes);
  out->set_wire_time_ns(in.wire_time.ns());
  out->set_wire_time_max_ns(in.wire_time_max.ns());
  size_t num_bins = in.wire_time_bins.size();
  while (num_bins > 0 && in.wire_time_bins[num_bins - 1] == 0) --num_bins;
  out->mutable_wire_time_bins()->Add(in.wire_time_bins.begin(), in.wire_time_bins.begin() + num_bins);
  out->set_wait_for_gpu_ns(in.wait_for_gpu.ns());
  out->set_wait_for_peer_ns(in.wait_for_peer.ns());
  out->set_in_flight(in.in_flight);
  out->set_phase(static_cast<uint32_t>(in.phase));
  out->set_phase_since_ns(in.phase_since.ns());
  out->set_last_progress_ns(in.last_progress.ns());
}

void Write(const SeenProcess& in, v1::SeenProcess* out) {
  const ProcessReport& report = in.report;
  out->set_state(static_cast<uint32_t>(in.state));
  out->set_exit_code(in.exit_code);
  out->set_pid(report.pid);
  out->set_process_start(report.process_start);
  out->set_global_rank(report.global_rank);
  out->set_number(report.number);
  out->set_at_ns(report.at.ns());
  for (const ProcessCommunicator& communicator : report.communicators) Write(communicator, out->add_communicators());
  for (const OperationRecord& operation : report.operations) Write(operation, out->add_operations());
  if (report.operations_since.has_value()) out->set_operations_since_ns(report.operations_since->ns());
  for (const ProgressRecord& progress : report.progress) Write(progress, out->add_progress());
  for (const ConnectionRecord& connection : report.connections) Write(connection, out->add_connections());
  out->set_busy_connections(report.busy_connections);
  out->set_is_finalizing(report.is_finalizing);
  out->set_num_dropped(report.num_dropped);
  out->set_num_damaged(report.num_damaged);
}

// ---- From protobuf ----

Status Read(const v1::ProcessCommunicator& in, ProcessCommunicator* out) {
  out->id = in.id();
  out->name = in.name();
  out->num_ranks = in.num_ranks();
  out->rank = in.rank();
  out->is_finalized = in.is_finalized();
  return OkStatus();
}

Status Read(const v1::OperationRecord& in, OperationRecord* out) {
  out->communicator = CommunicatorId(in.communicator());
  FL_RETURN_IF_ERROR(ReadEnumerator(in.kind(), OperationKind::kUnknown, "kind", &out->kind));
  out->sequence = in.sequence();
  out->issue_index = in.issue_index();
  out->bytes = in.bytes();
  out->data_type = in.data_type();
  out->root = in.root();
  if (in.has_peer()) out->peer = RankId(in.peer());
  out->enqueued = SimTime(in.enqueued_ns());
  if (in.has_started_ns()) out->started = SimTime(in.started_ns());
  if (in.has_finished_ns()) out->finished = SimTime(in.finished_ns());
  return OkStatus();
}

Status Read(const v1::ProgressRecord& in, ProgressRecord* out) {
  out->communicator = CommunicatorId(in.communicator());
  FL_RETURN_IF_ERROR(ReadEnumerator(in.kind(), OperationKind::kUnknown, "kind", &out->kind));
  if (in.has_peer()) out->peer = RankId(in.peer());
  out->enqueued = in.enqueued();
  out->started = in.started();
  out->finished = in.finished();
  return OkStatus();
}

Status Read(const v1::ConnectionRecord& in, ConnectionRecord* out) {
  out->key.communicator = CommunicatorId(in.communicator());
  FL_RETURN_IF_ERROR(ReadPort(in.channel(), "channel", &out->key.channel));
  FL_RETURN_IF_ERROR(ReadProtocol(in.plane(), "plane", &out->key.plane));
  FL_RETURN_IF_ERROR(ReadEnumerator(in.direction(), model::Direction::kReceive, "direction", &out->key.direction));
  out->key.peer = RankId(in.peer());
  out->messages = in.messages();
  out->bytes = in.bytes();
  out->wire_time = SimDuration(in.wire_time_ns());
  out->wire_time_max = SimDuration(in.wire_time_max_ns());
  FL_RETURN_IF_ERROR(CheckAtMost(static_cast<uint64_t>(in.wire_time_bins_size()), model::kNumWireTimeBins,
                                 "number of wire_time_bins"));
  std::copy(in.wire_time_bins().begin(), in.wire_time_bins().end(), out->wire_time_bins.begin());
  out->wait_for_gpu = SimDuration(in.wait_for_gpu_ns());
  out->wait_for_peer = SimDuration(in.wait_for_peer_ns());
  out->in_flight = in.in_flight();
  FL_RETURN_IF_ERROR(ReadEnumerator(in.phase(), model::TransferPhase::kReceiveWaitsForGpu, "phase", &out->phase));
  out->phase_since = SimTime(in.phase_since_ns());
  out->last_progress = SimTime(in.last_progress_ns());
  return OkStatus();
}

Status ReadInstant(int64_t ns, std::string_view field, SimTime* out) {
  *out = SimTime(ns);
  return telemetry::IsReportInstant(*out)
             ? OkStatus()
             : InvalidArgument(fmt::format("{}: found {}, which is no instant", field, ns));
}

Status Read(const v1::SeenProcess& in, SeenProcess* out);

template <class Proto, class Record>
Status ReadList(const Proto& in, std::vector<Record>* out) {
  out->resize(static_cast<size_t>(in.size()));
  for (int i = 0; i < in.size(); ++i) FL_RETURN_IF_ERROR(Read(in.Get(i), &(*out)[static_cast<size_t>(i)]));
  return OkStatus();
}

Status Read(const v1::SeenProcess& in, SeenProcess* out) {
  ProcessReport& report = out->report;
  FL_RETURN_IF_ERROR(ReadEnumerator(in.state(), model::ProcessState::kStopped, "state", &out->state));
  out->exit_code = in.exit_code();
  report.pid = in.pid();
  report.process_start = in.process_start();
  report.global_rank = in.global_rank();
  report.number = in.number();
  report.at = SimTime(in.at_ns());
  FL_RETURN_IF_ERROR(ReadList(in.communicators(), &report.communicators));
  FL_RETURN_IF_ERROR(ReadList(in.operations(), &report.operations));
  if (in.has_operations_since_ns()) report.operations_since = SimTime(in.operations_since_ns());
  FL_RETURN_IF_ERROR(ReadList(in.progress(), &report.progress));
  FL_RETURN_IF_ERROR(ReadList(in.connections(), &report.connections));
  report.busy_connections = in.busy_connections();
  report.is_finalizing = in.is_finalizing();
  report.num_dropped = in.num_dropped();
  report.num_damaged = in.num_damaged();
  const std::string fault = telemetry::FindFault(report);
  return fault.empty() ? OkStatus() : InvalidArgument(fmt::format("process {}: {}", report.pid, fault));
}

}  // namespace

void WriteProcesses(const controller::ProcessesSeen& in, v1::ProcessesSeen* out) {
  out->set_job(in.job);
  out->set_number(in.number);
  out->set_at_ns(in.at.ns());
  for (const SeenProcess& process : in.processes) Write(process, out->add_processes());
}

Status ReadProcesses(const v1::ProcessesSeen& in, controller::ProcessesSeen* out) {
  FL_RETURN_IF_ERROR(ReadJobName(in.job(), "job", &out->job));
  out->number = in.number();
  FL_RETURN_IF_ERROR(ReadInstant(in.at_ns(), "at_ns", &out->at));
  FL_RETURN_IF_ERROR(
      CheckAtMost(static_cast<uint64_t>(in.processes_size()), controller::kProcessesMax, "number of processes"));
  FL_RETURN_IF_ERROR(ReadList(in.processes(), &out->processes));
  size_t num_records = 0;
  for (SeenProcess& process : out->processes) {
    process.report.job = out->job;
    num_records += telemetry::NumRecords(process.report);
  }
  return CheckAtMost(num_records, telemetry::kProcessRecordsMax, "records");
}

}  // namespace fairlead::wire
