// What befalls hosts of a simulated cluster: GPUs that break, and what operators do with hosts.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "base/status.h"
#include "controller/job_allocator.h"
#include "controller/steering_options.h"
#include "execution/fault.h"

namespace fairlead::sim {

// A GPU breaks, and stays so until its host has been repaired.
struct HostFault {
  SimTime begin;
  HostId host;
  uint32_t gpu = 0;  // of the host
  // One of kGpuHang: no iteration of its job ends any more. kGpuMemoryError: its process dies. kSlowGpu: it computes
  // `magnitude` times as long.
  execution::FaultKind kind = execution::FaultKind::kGpuHang;
  double magnitude = 1;
};

// An operator, or the scheduler, says what a host may be used for.
struct HostEvent {
  SimTime time;
  HostId host;
  controller::HostState state = controller::HostState::kUp;
};

// Who notices a fault, and what follows. Without C4D, and where steering does nothing, people are left.
struct HealthOptions {
  bool has_diagnosis = false;  // a C4D master of each job, and steering in the mode kAct
  controller::SteeringOptions steering;
  // NCCL's watchdog ends a job that hangs after this (docs/spec/c4.md section 8). The launcher ends a job that has lost
  // a process after `launcher_time`: ours. Either way it waits for GPUs again.
  SimDuration timeout{1'800'000'000'000};
  SimDuration launcher_time{10'000'000'000};
  // People find the host that long after the first job has failed on it: 2.1 h without a finding (section 8), less with
  // one that names it. Slow jobs are not noticed by people.
  SimDuration search{7'560'000'000'000};
  SimDuration reaction{600'000'000'000};
  // From a host's isolation until its GPUs are in order: ours.
  SimDuration repair_time{3'600'000'000'000};
  // A job that fails goes on from its last checkpoint; they are that far apart (section 8), counted from its start.
  SimDuration checkpoint_interval{600'000'000'000};
  // What actions take: as in drills (drill/simulated_cluster.h).
  SimDuration isolate_time{10'000'000'000};
  SimDuration test_time{300'000'000'000};
  SimDuration return_time{10'000'000'000};
};

// Whether a job can be simulated with it.
inline bool IsHostFault(execution::FaultKind kind) {
  return kind == execution::FaultKind::kGpuHang || kind == execution::FaultKind::kGpuMemoryError ||
         kind == execution::FaultKind::kSlowGpu;
}

}  // namespace fairlead::sim
