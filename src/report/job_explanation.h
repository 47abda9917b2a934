// Why one job is slow: to whom and to what it lost time, on which links, whom it delays, and what the policy decided.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "sim/run_result.h"

namespace fairlead::report {

// Another job, as the reader needs to know it.
struct OtherJob {
  JobId id;  // invalid: the loss has no job to it
  std::string name;
  uint32_t num_gpus = 0;
  uint32_t level = 0;
};

// Time lost for one cause, because of one job, on one link.
struct ExplainedLoss {
  sim::LossResult loss;
  OtherJob other;                   // the culprit
  double capacity_bytes_per_s = 0;  // of the link; 0: the run kept no numbers of it
  double utilization = 0;           // of the link over the whole run, 0..1
};

// A job that lost time to the explained one, over all links.
struct DelayedJob {
  OtherJob job;
  double lost_s = 0;
  double gpu_hours = 0;
  bool yielded = false;  // it had a less important level
};

struct JobExplanation {
  sim::JobResult job;
  std::string policy;
  uint32_t draw = 0;
  uint64_t seed = 0;
  bool partial = false;
  double simulated_s = 0;

  double lost_gpu_hours_per_day = 0;
  // In the order of job.lost_to; they add up to job.lost_s and job.lost_gpu_hours.
  std::vector<ExplainedLoss> losses;
  std::vector<DelayedJob> delayed;  // most time lost first, then by id
};

// Errors: kNotFound: the run has no such job; the message gives the range of ids.
// Cost: O(losses + jobs + links of the run).
Result<JobExplanation> ExplainJob(const sim::RunResult& run, JobId id);

}  // namespace fairlead::report
