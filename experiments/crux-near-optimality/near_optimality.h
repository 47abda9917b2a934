// Experiment crux-near-optimality: how close is each mechanism to an enumerated optimum?
#pragma once

#include "base/status.h"
#include "experiment/experiment.h"

namespace fairlead::experiments::crux_near_optimality {

// 1,500 cases, reduced 60; case seeds count up from the context's seed. Same numbers at any number of threads.
Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::crux_near_optimality
