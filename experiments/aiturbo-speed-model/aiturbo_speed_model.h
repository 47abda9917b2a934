// How far off are the fitted speed models? (AITurbo, Optimus: parameter servers; Pollux: all-reduce)
#pragma once

#include "experiment/experiment.h"

namespace fairlead::experiments::aiturbo_speed_model {

Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::aiturbo_speed_model
