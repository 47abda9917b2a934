// Crux section 6.4, Figure 25: what Crux adds on top of job schedulers.
#pragma once

#include "base/status.h"
#include "experiment/experiment.h"

namespace fairlead::experiments::crux_job_schedulers {

Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::crux_job_schedulers
