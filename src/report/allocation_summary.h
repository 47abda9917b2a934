// What an allocation policy made of a run: completion times, waiting, restarts, use of the cluster's GPUs.
#pragma once

#include <cstdint>

#include "sim/run_result.h"

namespace fairlead::report {

// Times in seconds. Jobs that did not end are left out of completion times and counted.
struct AllocationSummary {
  uint32_t num_jobs = 0;
  uint32_t num_unfinished = 0;
  double mean_jct_s = 0;
  double longest_jct_s = 0;
  double makespan_s = 0;        // when the last job ended, or the run
  double mean_wait_s = 0;       // of a job, without GPUs
  double restarts_per_job = 0;  // after the first start
  double held_share = 0;        // of the cluster's GPU time until then, held by jobs
  double busy_share = 0;        // in which GPUs computed
  double mean_slowdown = 0;     // iteration time over that alone on the same GPUs
};

// Args: run of a scenario with an allocation policy; num_gpus > 0, of its cluster. Cost: O(jobs).
AllocationSummary SummarizeAllocation(const sim::RunResult& run, uint64_t num_gpus);

}  // namespace fairlead::report
