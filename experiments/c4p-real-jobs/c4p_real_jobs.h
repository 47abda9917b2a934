// Three training jobs, alone on the testbed (C4, Fig. 13).
#pragma once

#include "experiment/experiment.h"

namespace fairlead::experiments::c4p_real_jobs {

Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::c4p_real_jobs
