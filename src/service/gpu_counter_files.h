// Reads the counters of emulated GPUs (shm/gpu_counters.h), job by job.
#pragma once

#include <string>
#include <vector>

#include "agent/job_meter.h"
#include "base/status.h"

namespace fairlead::service {

// Sums over the processes of each job, by name; what is no file of counters is left out. Files of processes that have
// ended are taken away. An empty or missing folder has no jobs.
// Errors: kUnavailable: the folder or a file can't be opened now; sums without it would be too small.
Result<std::vector<agent::GpuSums>> ReadGpuCounters(const std::string& folder);

}  // namespace fairlead::service
