// Crux section 6.3, Figures 23 and 24, on the two-layer Clos.
#pragma once

#include "base/status.h"
#include "experiment/experiment.h"

namespace fairlead::experiments::crux_trace_clos {

Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::crux_trace_clos
