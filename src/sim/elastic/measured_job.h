// A job of a workload file, as its row describes it: what every reader of workloads makes of a row, and the simulator's
// job from it.
//
// Speeds   by GPUs, in iterations a second, as far as the file or a table of speeds has them. A job with one speed
//          alone is rigid: it runs on that many GPUs, or waits.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "sim/elastic/elastic_workload.h"
#include "sim/elastic/measured_speeds.h"

namespace fairlead::sim {

// Jobs and the profiles that they borrow: each has its own, as each has its own number of iterations.
struct OwnedWorkload {
  std::vector<std::unique_ptr<const ApplicationProfile>> profiles;
  std::vector<ElasticJobSpec> jobs;
  size_t num_passed_over = 0;  // jobs of the file that need no GPU, or no time
};

struct MeasuredJob {
  std::string name;
  std::string application;
  double submission_s = 0;
  uint32_t requested_gpus = 1;
  // Ascending; empty: only what it asks for.
  std::vector<uint32_t> allowed_gpus;
  uint32_t global_batch = 0;  // 0: unknown, and the same at every size
  double num_iterations = 0;
  MeasuredSpeeds speeds;  // of what it asks for, at least
  double weight = 1;
  std::string tenant = {};  // may be empty
};

// Adds the job and its profile. Errors: kInvalidArgument without a place: no speed of what it asks for, and those of
// ProfileOfMeasured().
Status AddMeasuredJob(const MeasuredJob& job, OwnedWorkload* workload);

// Submissions count from the first one from now on, and jobs stand in their order. Errors: those of ValidateWorkload().
Status FinishWorkload(OwnedWorkload* workload);

}  // namespace fairlead::sim
