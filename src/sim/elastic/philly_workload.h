// Reads the job log of Philly (cluster_job_log of msr-fiddle/philly-traces): what ran on a real cluster, as rigid jobs.
//
// Form        a JSON list: {"jobid", "vc", "user", "submitted_time" ("2017-10-09 07:01:55"), "status", "attempts":
//             [{"start_time", "end_time", "detail": [{"ip", "gpus": ["gpu0", ..]}, ..]}, ..]}.
// Method      a job asks for the GPUs of its longest attempt, and runs for as long as all of its attempts together held
//             that many: what was retried is work, too. An attempt without one of its times, or without GPUs, counts
//             for nothing; jobs without another one are passed over, and counted. The virtual cluster is the job's
//             tenant. Jobs of one user and size are alike for predictions.
// Reference   Jeon et al., Analysis of large-scale multi-tenant GPU clusters for DNN training workloads, ATC 2019.
#pragma once

#include <string>

#include "base/status.h"
#include "sim/elastic/measured_job.h"

namespace fairlead::sim {

// Errors: kNotFound; kInvalidArgument naming the file and the job (counted from 0) for what is no such list, a time
// that is none, an attempt that ends before it starts, an id that appears twice, and a log without GPU jobs.
Result<OwnedWorkload> LoadPhillyWorkload(const std::string& path);

// Whether the file begins as a JSON list.
bool LooksLikePhilly(const std::string& path);

}  // namespace fairlead::sim
