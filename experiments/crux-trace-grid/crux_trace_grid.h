// In which conditions the statements of Crux section 6.3 hold: oversubscription, queue pairs, placements, moments of
// the trace and draws of chance.
#pragma once

#include "base/status.h"
#include "experiment/experiment.h"
#include "experiments/crux-trace-grid/grid.h"

namespace fairlead::experiments::crux_trace_grid {

// What the cells say. Args: a complete grid of these axes.
experiment::Outcome Summarize(const GridAxes& axes, const GridResult& result);

Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::crux_trace_grid
