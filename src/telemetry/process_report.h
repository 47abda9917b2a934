// What one training process has done since the previous look, in its own terms: ids and ranks of communicators, not of
// the job, which no process knows. job_assembler.h puts the reports of a job's processes together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/sim_time.h"
#include "model/telemetry.h"

namespace fairlead::telemetry {

struct ProcessCommunicator {
  uint64_t id = 0;  // the same in all its processes
  std::string name;
  uint32_t num_ranks = 0;  // 0: not known; then nothing else is reported of it
  int32_t rank = -1;       // of this process
  bool is_finalized = false;

  friend bool operator==(const ProcessCommunicator&, const ProcessCommunicator&) = default;
};

struct ProcessReport {
  std::string job;  // name; empty: unknown
  int32_t pid = 0;
  uint64_t process_start = 0;  // tells it from a later process of the same number
  int32_t global_rank = -1;    // of the job, as its environment says; -1: unknown
  uint64_t number = 0;         // of this process's reports; counts from 0
  SimTime at;                  // on the host's clock
  std::vector<ProcessCommunicator> communicators;
  // As in model::RankReport, but `communicator` is an index of `communicators`, and `peer` a rank of that one.
  std::vector<model::OperationRecord> operations;
  std::optional<SimTime> operations_since;
  std::vector<model::ProgressRecord> progress;
  std::vector<model::ConnectionRecord> connections;
  uint32_t busy_connections = 0;
  bool is_finalizing = false;  // all its communicators have been finalized
  // So far: what its plugin had no room for. In this look: slots with values that can't be.
  uint64_t num_dropped = 0;
  uint32_t num_damaged = 0;
  // Now and then, of a process that has done nothing for a while; at most kThreadGroupsMax.
  std::vector<model::ThreadGroup> threads = {};

  friend bool operator==(const ProcessReport&, const ProcessReport&) = default;
};

// One process in one look: the state in the kernel, and the content of its segment.
struct SeenProcess {
  model::ProcessState state = model::ProcessState::kRunning;
  model::ProcessExit exit = {};  // of one that is gone
  ProcessReport report;

  friend bool operator==(const SeenProcess&, const SeenProcess&) = default;
};

// Bounds of what a tracker reports (segment_tracker.h), so that sums and differences of a job's values are numbers:
// instants -2^61..2^62 ns, sums of durations 0..2^61 ns, other sums up to 2^62, ranks of communicators below 2^20.
inline constexpr size_t kProcessTextMax = 64;         // bytes of each text, printable ASCII
inline constexpr size_t kThreadGroupsMax = 24;        // of a process
inline constexpr size_t kThreadPlaceMax = 160;        // bytes of each place, printable ASCII
inline constexpr size_t kProcessRecordsMax = 32'768;  // all that NumRecords counts

bool IsReportInstant(SimTime time);
// Communicators and threads, too.
size_t NumRecords(const ProcessReport& report);

// The job is not checked: that is a name, with rules at its receiver. The error in a report from outside (ids out of
// range, values out of those bounds); empty: nothing. Names of places: "operations[2].communicator: expected one of 4,
// found 7". Cost: linear.
std::string FindFault(const ProcessReport& report);
std::string FindFault(const SeenProcess& process);

}  // namespace fairlead::telemetry
