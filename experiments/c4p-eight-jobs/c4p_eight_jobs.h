// Eight concurrent all-reduce jobs, on a fabric that does not block and on one that is 2:1 (C4, Fig. 9).
#pragma once

#include "experiment/experiment.h"

namespace fairlead::experiments::c4p_eight_jobs {

Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::c4p_eight_jobs
