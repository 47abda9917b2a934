// NCCL Inspector, the profiler plugin that comes with NCCL: operations that ranks have completed, one file per process.
//
// Problem     each process tells how long its operations took, but only with NCCL_INSPECTOR_DUMP_VERBOSE=1 when they
//             began; make operations of it that can be compared over ranks, and connections where it traces the proxy.
// Method      with event traces: their instants. Without: all ranks leave a collective together, so every rank ends at
//             the instant that the dumps of all allow, and began as long before as it says it took; the rank that came
//             last is the one that took least. Operations end in order, each not later than the next began.
// Cost        memory: about 100 bytes for each operation. Files are read line by line.
// Guarantees  the order of the files does not matter; lines that are not needed are skipped.
// Differs     kinds of operations have sequence numbers of their own in NCCL; positions among all operations are those
//             of one common order, the same on every rank. Hosts report as often as their ranks do.
// Reference   NVIDIA/nccl, plugins/profiler/inspector (formats v4.x and v5.x)
#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "telemetry/rank_table.h"
#include "telemetry/recording.h"

namespace fairlead::telemetry {

// An operation that a process has completed. Instants are microseconds since 1970.
struct InspectorOperation {
  uint32_t source = 0;  // index of its (communicator, process)
  model::OperationKind kind = model::OperationKind::kUnknown;
  uint64_t sequence = 0;
  int32_t peer = -1;  // rank of the communicator
  uint64_t bytes = 0;
  int64_t duration_us = 0;
  int64_t dumped_us = 0;
  int64_t enqueued_us = 0;  // 0: unknown, as the next two are then
  int64_t started_us = 0;
  int64_t finished_us = 0;
};

// A message of a connection, from a trace of the proxy. Durations that were not traced are 0.
struct InspectorMessage {
  uint32_t source = 0;
  bool is_send = false;
  uint16_t channel = 0;
  uint32_t peer = 0;  // rank of the communicator
  int64_t dumped_us = 0;
  uint64_t bytes = 0;
  int64_t wire_us = 0;
  int64_t wait_for_gpu_us = 0;
  int64_t wait_for_peer_us = 0;
};

// Who wrote a line.
struct InspectorSource {
  std::string communicator;
  uint64_t size = 0;
  uint64_t rank = 0;
  RankProcess process;

  friend auto operator<=>(const InspectorSource&, const InspectorSource&) = default;
};

class NcclInspectorImporter final : public Importer {
 public:
  Status Add(std::istream& file, const std::string& name) override;
  // Errors: files that contradict each other about the members of a communicator.
  Result<Recording> Finish() override;

 private:
  std::map<InspectorSource, uint32_t> sources_;  // to index
  std::vector<InspectorOperation> operations_;
  std::vector<InspectorMessage> messages_;
  bool has_file_ = false;
};

}  // namespace fairlead::telemetry
