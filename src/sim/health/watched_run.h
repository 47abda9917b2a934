// When the C4D master of a job would find a broken GPU, and what it would say: the job is simulated rank by rank from a
// little before the fault on, and its telemetry goes to the product's own master.
//
//     placement, iteration time --> execution::JobExecution --> telemetry --> C4dMaster --> findings
//
// Limits      the rank-by-rank job trains data-parallel, with one ring all-reduce an iteration that takes what
//             communication of the simulated cluster's job took; other jobs and resizing are not part of it. The master
//             watches for `warm_up` before the fault, not from the job's start on, and what it would say before the
//             fault is left out. A job of one rank has no peers to be compared with: nothing is found.
// Cost        that of execution::JobExecution: O(messages).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "execution/fault.h"
#include "model/finding.h"
#include "model/job.h"
#include "topology/fabric.h"

namespace fairlead::sim {

struct WatchedFault {
  uint32_t rank = 0;
  execution::FaultKind kind = execution::FaultKind::kGpuHang;
  double magnitude = 1;
  SimTime begin;
};

// A job on its GPUs.
struct WatchedJob {
  JobId job;
  std::vector<HostId> hosts;  // [rank], those of one host together
  SimTime begin;              // of its first iteration on these GPUs
  Seconds iteration_time;     // > 0
  Seconds compute_time;       // of it
  uint64_t seed = 1;
};

struct TimedFinding {
  SimTime at;
  model::Finding finding;  // of the job, with the cluster's hosts
};

// Findings about the job after `now`, at which one of the faults has begun to matter, as they change; until `until`, or
// two minutes after one was confirmed.
std::vector<TimedFinding> WatchRun(const WatchedJob& job, const std::vector<WatchedFault>& faults, SimTime now,
                                   SimTime until);

}  // namespace fairlead::sim
