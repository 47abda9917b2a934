// The result of `fairlead sim run` on a terminal: which policy did better, by how much, and why.
#pragma once

#include "report/document.h"
#include "sim/run_result.h"

namespace fairlead::report {

// Title, a table of utilization and slowdown, a table of where it hurts, the cost of running, and per compared policy a
// few plain sentences. At most kTextWidth columns; runs that were stopped early are marked PARTIAL. Never prints NaN.
Document RenderText(const sim::SimulationReport& report);

}  // namespace fairlead::report
