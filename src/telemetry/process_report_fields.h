// The fields of what an agent reports of a process (codec/record.h). Numbers never change meaning.
#pragma once

#include <string>

#include "codec/record.h"
#include "model/telemetry_fields.h"
#include "telemetry/process_report.h"

namespace fairlead::telemetry {

template <class Archive, codec::IsRecord<ProcessCommunicator> Record>
void Describe(Archive& archive, Record& communicator) {
  archive.Required(1, "id", communicator.id, codec::Fixed64());
  archive.Required(2, "name", communicator.name);
  archive.Required(3, "num_ranks", communicator.num_ranks);
  archive.Required(4, "rank", communicator.rank);
  archive.Required(5, "is_finalized", communicator.is_finalized);
}

// Without the job, which is the same for all processes of a message. Number 2 was an exit code that stood for
// "unknown", too.
template <class Archive, codec::IsRecord<SeenProcess> Record>
void Describe(Archive& archive, Record& process) {
  auto& report = process.report;
  archive.Required(1, "state", process.state);
  archive.Required(3, "pid", report.pid, codec::PlainInt());
  archive.Required(4, "process_start", report.process_start);
  archive.Required(5, "global_rank", report.global_rank);
  archive.Required(6, "number", report.number);
  archive.Required(7, "at", report.at);
  archive.Required(8, "communicators", report.communicators);
  archive.Required(9, "operations", report.operations);
  archive.Optional(10, "operations_since", report.operations_since);
  archive.Required(11, "progress", report.progress);
  archive.Required(12, "connections", report.connections);
  archive.Required(13, "busy_connections", report.busy_connections);
  archive.Required(14, "is_finalizing", report.is_finalizing);
  archive.Required(15, "num_dropped", report.num_dropped);
  archive.Required(16, "num_damaged", report.num_damaged);
  archive.Optional(17, "exit_code", process.exit.code);
  archive.Required(18, "end", process.exit.end);
  archive.Optional(19, "ended_at", process.exit.at);
  archive.Required(20, "ended_within", process.exit.within);
  archive.Required(21, "threads", report.threads);
  archive.Law([&] { return FindFault(process); });
}

}  // namespace fairlead::telemetry
