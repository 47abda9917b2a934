// Experiment aiturbo-jct: completion times under every allocation policy, on generated workloads and on the Pollux
// benchmark.
#pragma once

#include "experiment/experiment.h"

namespace fairlead::experiments::aiturbo_jct {

// Takes a minute or two: learned models are fitted on the way. The seed draws the generated workloads.
Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::aiturbo_jct
