#include "wire/random_messages.h"

#include <algorithm>
#include <cstdint>

#include "codec/random_archive.h"
#include "controller/host_message_fields.h"

namespace fairlead::wire {
namespace {

using namespace controller;  // NOLINT(google-build-using-namespace): the messages, which are on every line

// Each Keep() makes the laws of a record hold, which fields filled by chance may break.

void Keep(SimTime* instant) { *instant = SimTime(instant->ns() >> 2); }
void Keep(SimDuration* sum) { *sum = SimDuration((sum->ns() & std::numeric_limits<int64_t>::max()) >> 2); }
void Keep(uint64_t* count) { *count >>= 2; }
void Keep(std::string* text) { text->assign(text->size() % 65, '~'); }
void Keep(model::RankId* peer) {
  if (peer->valid()) *peer = model::RankId(peer->value() % (1 << 20));
}

void Keep(std::optional<SimTime>* instant) {
  if (instant->has_value()) Keep(&**instant);
}

void Keep(telemetry::SeenProcess* process) {
  telemetry::ProcessReport& report = process->report;
  const auto num_communicators = static_cast<uint32_t>(report.communicators.size());
  const auto keep_place = [&](model::CommunicatorId* id) {
    *id = model::CommunicatorId(id->value() % num_communicators);
  };
  Keep(&process->exit.at);
  Keep(&process->exit.within);
  Keep(&report.at);
  Keep(&report.operations_since);
  report.threads.resize(std::min(report.threads.size(), telemetry::kThreadGroupsMax));
  for (model::ThreadGroup& group : report.threads) {
    Keep(&group.name);
    Keep(&group.place);
  }
  for (telemetry::ProcessCommunicator& communicator : report.communicators) {
    Keep(&communicator.name);
    communicator.num_ranks %= 1 << 20;
    communicator.rank %= 1 << 20;
  }
  if (num_communicators == 0) {
    report.operations.clear();
    report.progress.clear();
    report.connections.clear();
  }
  for (model::OperationRecord& operation : report.operations) {
    keep_place(&operation.communicator);
    Keep(&operation.bytes);
    Keep(&operation.data_type);
    Keep(&operation.peer);
    Keep(&operation.enqueued);
    Keep(&operation.started);
    Keep(&operation.finished);
  }
  for (model::ProgressRecord& progress : report.progress) {
    keep_place(&progress.communicator);
    Keep(&progress.peer);
  }
  for (model::ConnectionRecord& connection : report.connections) {
    keep_place(&connection.key.communicator);
    Keep(&connection.key.peer);
    Keep(&connection.messages);
    Keep(&connection.bytes);
    for (SimDuration* sum :
         {&connection.wire_time, &connection.wire_time_max, &connection.wait_for_gpu, &connection.wait_for_peer}) {
      Keep(sum);
    }
    Keep(&connection.phase_since);
    Keep(&connection.last_progress);
  }
}

void Keep(std::vector<model::HostSymptomRecord>* symptoms) {
  for (model::HostSymptomRecord& symptom : *symptoms) symptom.text.assign(symptom.text.size() % 20, 'x');
}

void Keep(FromAgent* message) {
  if (auto* hello = std::get_if<HostHello>(message)) {
    if (!IsName(hello->host)) hello->host = "host";
  } else if (auto* held = std::get_if<ConnectionsHeld>(message)) {
    for (HeldConnection& connection : held->connections) {
      connection.socket_ports.resize(connection.queue_pairs.size());
    }
  } else if (auto* finished = std::get_if<ProbesFinished>(message)) {
    for (PortScanSeen& scan : finished->scans) {
      for (ProbedRoute& route : scan.routes) route.lost = std::min(route.lost, route.sent);
    }
  } else if (auto* measured = std::get_if<JobMeasured>(message)) {
    measured->profile.flow_bytes.resize(measured->connections.size());
  } else if (auto* seen = std::get_if<ProcessesSeen>(message)) {
    Keep(&seen->at);
    Keep(&seen->symptoms);
    for (telemetry::SeenProcess& process : seen->processes) {
      process.report.job = seen->job;
      Keep(&process);
    }
  } else if (auto* done = std::get_if<HostTestDone>(message)) {
    Keep(&done->error);
    Keep(&done->symptoms);
  }
}

}  // namespace

FromAgent RandomFromAgent(Random* random) {
  auto message = codec::RandomRecord<FromAgent>(random);
  Keep(&message);
  return message;
}

ToAgent RandomToAgent(Random* random) { return codec::RandomRecord<ToAgent>(random); }

}  // namespace fairlead::wire
