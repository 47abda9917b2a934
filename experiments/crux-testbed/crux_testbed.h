// Experiment crux-testbed: ten mixes of jobs on the testbed of Crux, and the pair that motivates it.
#pragma once

#include "base/status.h"
#include "experiment/experiment.h"

namespace fairlead::experiments::crux_testbed {

// 20 hash seeds for each case and policy, reduced 5. Same numbers at any number of threads.
Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::crux_testbed
