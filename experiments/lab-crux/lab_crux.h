// The testbed cases of Crux with real processes in the lab: nothing decided, paths, priorities, both; each job alone;
// the simulator beside them.
#pragma once

#include "experiment/experiment.h"

namespace fairlead::experiments::lab_crux {

Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::lab_crux
