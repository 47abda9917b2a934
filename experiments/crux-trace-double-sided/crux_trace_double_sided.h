// Crux section 6.3, Figures 23 and 24, on the double-sided fabric.
#pragma once

#include "base/status.h"
#include "experiment/experiment.h"

namespace fairlead::experiments::crux_trace_double_sided {

Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::crux_trace_double_sided
