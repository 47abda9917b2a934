// Reads workloads of rigid and elastic jobs in our own form, those of Tiresias' artifact and Gavel's traces.
//
// Neutral    CSV, one row a job, columns in any order, others are passed over:
//              job         name, once in the file
//              submit      seconds
//              gpus        what it asks for
//              duration    seconds on that many GPUs; or
//              steps       iterations, with `speeds`
//              speeds      "1:0.5 2:0.28 4:0.15": seconds of an iteration by GPUs; the job may run on any of these
//              min, max    of these sizes, those that it may run on; optional
//              app         what it trains, optional: jobs of one app are alike for predictions
//              weight      how much more the job is entitled to than one of weight 1, optional
//              tenant      whose it is (scheduling/tenant_shares.h), optional
//              batch       samples of an iteration, optional
//            A job without `speeds` is rigid: its speed is known at its own size only.
// Tiresias   CSV: job_id, num_gpu, submit_time (s), iterations, model_name, duration (s). Rigid jobs.
// Gavel      lines of tab-separated fields: kind of job, command, [folder,] option, needs data, iterations, then
//            arrival and GPUs (7 fields) or GPUs, weight, deadline, arrival (10 fields). Rigid jobs, speeds of Gavel's
//            table.
#pragma once

#include <istream>
#include <memory>
#include <string>

#include "base/status.h"
#include "sim/elastic/gavel_speeds.h"
#include "sim/elastic/measured_job.h"

namespace fairlead::sim {

// Errors of all: kNotFound; kInvalidArgument with file:line and what is wrong: a missing column, what is no number, a
// negative time, no GPUs, a size without a speed, a name that appears twice.
Result<OwnedWorkload> LoadNeutralWorkload(const std::string& path);
Result<OwnedWorkload> LoadTiresiasWorkload(const std::string& path);

// Args: gpu_type: of `speeds`, "v100".
Result<OwnedWorkload> LoadGavelWorkload(const std::string& path, const GpuTypeSpeeds& speeds,
                                        const std::string& gpu_type);

}  // namespace fairlead::sim
