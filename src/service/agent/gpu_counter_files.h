// Reads the counters of emulated GPUs (shm/gpu_counters.h), job by job.
#pragma once

#include <string>
#include <vector>

#include "agent/job_meter.h"
#include "base/sim_time.h"
#include "base/status.h"
#include "service/agent/process_owner.h"

namespace fairlead::service {

// Sums over the processes of each job, by key. What is no file of counters, or does not belong to the user of the
// process whose number it carries, is left out. Files of processes that have ended are taken away. An empty or missing
// folder has no jobs. Args: jobs: for their keys; at: now.
// Errors: kUnavailable: the folder or a file can't be opened now; sums without it would be too small.
Result<std::vector<agent::GpuSums>> ReadGpuCounters(const std::string& folder, JobIdentifier* jobs, SimTime at);

}  // namespace fairlead::service
