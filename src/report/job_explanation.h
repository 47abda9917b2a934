// Why one job is slow: which link bounds it, who shares it, what that costs, and what the policy decided.
#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "sim/run_result.h"

namespace fairlead::report {

// Another job on a link, and what it took from the explained job there, or the other way round.
struct Sharer {
  JobId id;
  std::string name;
  uint32_t num_gpus = 0;
  uint32_t level = 0;
  double shared_s = 0;   // both had traffic on the link while it bounded the victim
  double lost_s = 0;     // the victim's delay blamed on the other job
  bool yielded = false;  // the victim stood on a less important level
};

// One link on which the job lost time.
struct ContendedLink {
  LinkId id;
  std::string name;
  double capacity_bytes_per_s = 0;  // 0: the run kept no numbers of this link
  double utilization = 0;           // over the whole run, 0..1
  double lost_s = 0;                // sum over the sharers
  std::vector<Sharer> sharers;      // most time lost first, then by id
};

struct JobExplanation {
  sim::JobResult job;
  std::string policy;
  uint64_t seed = 0;
  bool partial = false;
  double simulated_s = 0;

  double gpu_hours_lost = 0;  // in this run: behind its solo speed
  double gpu_hours_lost_per_day = 0;
  double lost_s = 0;                 // of the job's own time: iterations x (mean - solo iteration time)
  double contention_s = 0;           // the part of it that `links` blame on other jobs
  std::vector<ContendedLink> links;  // most time lost first, then by id
  std::vector<Sharer> delayed;       // jobs that this job delays, over all links; most time lost first, then by id
};

// Errors: kNotFound: the run has no such job; the message gives the range of ids.
// Cost: O(contention + jobs + links of the run).
Result<JobExplanation> ExplainJob(const sim::RunResult& run, JobId id);

}  // namespace fairlead::report
