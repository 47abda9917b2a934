// A training job of a model profile with a given share of its communication in the way of its compute.
//
// What a job wins by faster communication depends on how much of it hides behind compute, which C4 does not publish.
// Here compute and bytes are those of the profile; of the bytes between replicas a share waits for the end of the
// compute and holds up the next iteration, the rest may run beside the compute from its beginning. What a layer waits
// for (tensor parallelism) stops compute, as in the profile.
#pragma once

#include "base/status.h"
#include "base/units.h"
#include "collective/model_profile.h"
#include "model/job.h"
#include "sim/scenario_job.h"

namespace fairlead::experiments::c4p_real_jobs {

// Args: exposed: 0 (hidden as well as it can be) .. 1 (all of it after the compute). No pipeline, no experts.
// Errors: those of collective::BuildIteration.
Result<sim::ImportedWork> ExposeCommunication(const collective::ModelProfile& profile,
                                              const model::Parallelism& parallelism, FlopPerSecond gpu_peak,
                                              double exposed);

}  // namespace fairlead::experiments::c4p_real_jobs
