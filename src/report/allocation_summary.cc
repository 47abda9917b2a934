#include "report/allocation_summary.h"

#include <algorithm>

namespace fairlead::report {

AllocationSummary SummarizeAllocation(const sim::RunResult& run, uint64_t num_gpus) {
  AllocationSummary summary;
  summary.num_jobs = static_cast<uint32_t>(run.jobs.size());
  summary.mean_slowdown = run.mean_slowdown;
  double held_s = 0;
  double busy_s = 0;
  for (const sim::JobResult& job : run.jobs) {
    summary.makespan_s = std::max(summary.makespan_s, job.end_s);
    if (job.finished) {
      summary.mean_jct_s += job.end_s - job.arrival_s;
      summary.longest_jct_s = std::max(summary.longest_jct_s, job.end_s - job.arrival_s);
    } else {
      ++summary.num_unfinished;
    }
    if (!job.allocation) continue;
    summary.mean_wait_s += job.allocation->waited_s / summary.num_jobs;
    summary.restarts_per_job += static_cast<double>(job.allocation->num_restarts) / summary.num_jobs;
    held_s += job.allocation->held_gpu_s;
    busy_s += job.allocation->busy_gpu_s;
  }
  const uint32_t num_finished = summary.num_jobs - summary.num_unfinished;
  if (num_finished > 0) summary.mean_jct_s /= num_finished;
  const double all_s = static_cast<double>(num_gpus) * summary.makespan_s;
  if (all_s > 0) {
    summary.held_share = held_s / all_s;
    summary.busy_share = busy_s / all_s;
  }
  return summary;
}

}  // namespace fairlead::report
