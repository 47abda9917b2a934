// Reads what played GPUs have counted (shm/gpu_counters.h), job by job.
#pragma once

#include <string>
#include <vector>

#include "agent/job_meter.h"

namespace fairlead::service {

// Sums over the processes of each job, by name; jobs of a process whose file can't be read are left out. Files of
// processes that have ended are taken away. An empty or missing folder has no jobs.
std::vector<agent::GpuSums> ReadGpuCounters(const std::string& folder);

}  // namespace fairlead::service
