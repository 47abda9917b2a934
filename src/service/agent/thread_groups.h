// Where the threads of a process are, as /proc says: in the training script, in a library, in a driver, at a file
// server?
//
// Method      the name and the state of each thread, and the functions of the kernel that it is in (task/TID/stack;
//             where that may not be read, wchan). Those that are alike become one group.
// Guarantees  no process is stopped or traced, nor is its memory or anything that it has written read, but for the
//             names of its threads. What a process may do to the agent: have that many threads, which are bounded.
// Cost        two files for each thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/sim_time.h"
#include "model/telemetry.h"
#include "telemetry/process_report.h"

namespace fairlead::service {

// Functions of a stack as /proc prints it, innermost first, without the entry of the system call: "futex_wait_queue <
// futex_wait < do_futex < sys_futex"; at most kThreadPlaceMax bytes, whole functions.
std::string ParseKernelStack(std::string_view text);

struct ProcessThreads {
  std::vector<model::ThreadGroup> groups;  // that of the first thread, then by size; at most kThreadGroupsMax
  uint32_t num_read = 0;                   // threads
};
// At most so many threads, the first one among them. Of a process that is gone: none.
ProcessThreads ReadThreads(const std::string& proc_folder, int32_t pid, uint32_t num_max);

// Whether a process has done nothing for a while, so that it is worth a look where its threads are.
class Stillness {
 public:
  static constexpr SimDuration kStillFor = SimDuration(5'000'000'000);
  static constexpr SimDuration kAgainAfter = SimDuration(30'000'000'000);

  // Args: each report of the process, in order.
  bool IsDue(const telemetry::ProcessReport& report);
  void NoteLook(SimTime at) { looked_ = at; }

 private:
  SimTime still_since_;
  SimTime looked_ = SimTime(-kAgainAfter.ns());
  std::vector<model::OperationRecord> operations_;
  std::vector<model::ProgressRecord> progress_;
};

}  // namespace fairlead::service
