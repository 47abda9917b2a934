// Experiment aiturbo-example: slide 21 of the talk on AITurbo, two jobs that trade one unit of a resource.
#pragma once

#include "experiment/experiment.h"

namespace fairlead::experiments::aiturbo_example {

// Takes milliseconds; the seed is not used.
Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::aiturbo_example
