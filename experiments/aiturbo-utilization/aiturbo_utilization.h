// Experiment aiturbo-utilization: how well every allocation policy uses CPUs and GPUs together, on jobs of parameter
// servers and workers.
#pragma once

#include "experiment/experiment.h"

namespace fairlead::experiments::aiturbo_utilization {

// Takes seconds. The seed draws applications and workloads.
Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::aiturbo_utilization
