// Experiment crux-examples: the worked examples of Crux, recomputed by the code that schedules real jobs.
#pragma once

#include "base/status.h"
#include "experiment/experiment.h"

namespace fairlead::experiments::crux_examples {

// Takes milliseconds; the seed is only that of the sampled topological orders.
Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::crux_examples
