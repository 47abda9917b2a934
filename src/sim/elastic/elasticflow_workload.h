// Reads the public data of ElasticFlow (ASPLOS 2023): speeds of seven models on 1 to 64 A100, and jobs drawn from the
// Philly trace.
//
// Speeds     FOLDER/<model>.csv: global_batch_size, then a column per number of GPUs; iterations per second. 0 or empty
//            = it does not run so.
// Workload   CSV: job_id, submit_time (s), model_name, batch_size, num_gpu, iteration
#pragma once

#include <map>
#include <string>

#include "base/status.h"
#include "sim/elastic/measured_job.h"
#include "sim/elastic/measured_speeds.h"

namespace fairlead::sim {

// Of one model: by global batch.
using BatchSpeeds = std::map<uint32_t, MeasuredSpeeds>;

// By model, the name of the file. Errors: kNotFound for a folder without such files; kInvalidArgument with file:line
// for a field that is no number, no column that is a number of GPUs, a batch that appears twice.
Result<std::map<std::string, BatchSpeeds>> LoadElasticflowSpeeds(const std::string& folder);

// Times count from the first submission. Args: most_jobs > 0: only so many, the first ones.
// Errors: kNotFound; kInvalidArgument with file:line for a model or batch without speeds, a number that is none, a
// job_id that appears twice.
Result<OwnedWorkload> LoadElasticflowWorkload(const std::string& path, const std::map<std::string, BatchSpeeds>& speeds,
                                              size_t most_jobs);

}  // namespace fairlead::sim
