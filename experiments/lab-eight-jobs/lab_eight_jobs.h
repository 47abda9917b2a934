// Eight concurrent all-reduce jobs of real processes in the lab: ECMP against Fairlead, the simulator beside them.
#pragma once

#include "experiment/experiment.h"

namespace fairlead::experiments::lab_eight_jobs {

Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::lab_eight_jobs
