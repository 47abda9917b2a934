// Reads job logs of the form of Helios (and of Acme's Seren): what ran on a real cluster, as rigid jobs.
//
// Columns     job_id, user, gpu_num, submit_time ("2020-04-01 00:05:21"), duration (s), and if it is there vc, the
//             virtual cluster: the job's tenant. Others are passed over: cpu_num, node_num, state, start_time,
//             end_time, queue.
// Method      a job runs for its duration on as many GPUs as it had, whatever became of it: it held them for so long.
//             Jobs of one user and size are alike for predictions. Jobs without GPUs, or of no duration, are passed
//             over, and counted.
// Reference   Hu et al., Characterization and prediction of deep learning workloads in large-scale GPU datacenters,
//             SC 2021.
#pragma once

#include <string>

#include "base/status.h"
#include "sim/elastic/measured_job.h"

namespace fairlead::sim {

// Errors: kNotFound; kInvalidArgument with file:line for a missing column, what is no number or no time, a name that
// appears twice, and a log without GPU jobs.
Result<OwnedWorkload> LoadHeliosWorkload(const std::string& path);

}  // namespace fairlead::sim
