// Crux section 7.2: what the lowest-priority jobs lose, and what two remedies cost.
#pragma once

#include "base/status.h"
#include "experiment/experiment.h"

namespace fairlead::experiments::crux_fairness {

Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::crux_fairness
