// What share of a month a job of 2,400 GPUs loses to faults, before C4D and with it (C4, Table 3).
#pragma once

#include "experiment/experiment.h"

namespace fairlead::experiments::c4d_downtime {

Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::c4d_downtime
