// Faults that can be planted in a job of a lab, each with its end.
//
//     kind                 what happens                                                       what a cluster calls it
//     healthy, pause       nothing; the whole job is stopped for a while                    nothing may be blamed
//     frozen_rank          SIGSTOP for one worker                                             a process that is stuck
//     killed_rank          SIGKILL for one worker                                             a crash
//     killed_host          its cables are cut, then all its processes and its agent killed    power is lost
//     cut_link             both directions of the cables of its NIC                           its transceiver is dead
//     slow_send            its NIC sends with a part of its speed                             a sick NIC, transmit side
//     slow_receive         its NIC receives with a part of its speed                          the same, receive side
//     slow_connection      data from one worker to another does                               a sick path
//     busy_rank            computes before each communication phase                           a slow GPU
//     slow_loader          waits for samples at the begin of each iteration                   slow storage, a busy host
//     mismatch             does the first two communication phases in the other order         a bug of the program
//
// Faults of hosts and cables stay with them when the job goes elsewhere; those of processes end with the processes. A
// job with a mismatch is stalled permanently: it has to be restarted.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "lab/host_processes.h"
#include "lab/job_runner.h"
#include "lab/lab_session.h"

namespace fairlead::lab {

enum class LabFaultKind {
  kHealthy,
  kPause,           // seconds
  kFrozenRank,      // worker
  kKilledRank,      // worker
  kKilledHost,      // worker: its host
  kCutLink,         // worker: its host
  kSlowSend,        // worker: its host; share
  kSlowReceive,     // the same
  kSlowConnection,  // worker, peer; share
  kBusyRank,        // worker; seconds
  kSlowLoader,      // worker; seconds
  kMismatch,        // worker
};
inline constexpr size_t kNumLabFaultKinds = 12;

// "healthy", "pause", "frozen_rank", ..
std::string_view Name(LabFaultKind kind);
std::optional<LabFaultKind> FindLabFaultKind(std::string_view name);
// "a worker is stopped (SIGSTOP)", ..
std::string_view Describe(LabFaultKind kind);

struct LabFault {
  LabFaultKind kind = LabFaultKind::kHealthy;
  uint32_t worker = 0;
  uint32_t peer = 0;   // of slow_connection
  double share = 0.2;  // of the speed that is left, in (0, 1)
  double seconds = 1;  // of a pause; before each phase; before each iteration. > 0
};

// Args: num_workers: of the job. Errors: kInvalidArgument: no such worker, a number out of range.
Status Validate(const LabFault& fault, size_t num_workers);

// One fault at a time, of one job.
class LabFaultInjector {
 public:
  // Both must outlive what is planted.
  LabFaultInjector(LabSession* session, JobRunner* runner) : session_(session), runner_(runner) {}

  // Args: the job runs; no fault is planted; the fault is valid. A pause waits for the end of an iteration, so that all
  // workers pause in the same one. Errors: kUnavailable: the lab has ended, or a command failed in it.
  Status Apply(JobId job, const LabFault& fault);
  // Mends what Apply() broke, wherever the job is by now; fine where nothing is. Processes that were killed stay so.
  Status Undo();
  bool IsPlanted() const { return planted_.has_value(); }
  // The host, if it is one's fault that stays with the host; invalid: none.
  LabNodeId faulty_host() const { return host_; }

 private:
  struct Planted {
    JobId job;
    LabFault fault;
    uint32_t run = 0;  // of the job
  };

  Status ApplyToCables(const LabFault& fault, const LabWorker& worker);
  Status CutCables(double health);
  Status SetSpeed(size_t end, double share);
  Status SlowConnection(const LabWorker& from, const LabWorker& to, double share);
  Status Pause(JobId job, double seconds);
  // The next iteration that ends, as soon as it has.
  Result<JobProgress> NextIteration(JobId job, const JobProgress& before) const;
  std::vector<CableId> CablesOf(LabNodeId host) const;

  LabSession* session_;
  JobRunner* runner_;
  std::optional<Planted> planted_;
  LabNodeId host_;
  std::vector<HostDaemon> daemons_;  // of a killed host
};

}  // namespace fairlead::lab
