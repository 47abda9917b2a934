// Runs a scenario with a progress bar on the terminal and Ctrl-C wired to its stop flag.
#pragma once

#include "base/status.h"
#include "sim/run_result.h"
#include "sim/scenario.h"
#include "sim/scenario_runner.h"

namespace fairlead::cli {

// The bar is shown when stderr is a terminal.
Result<sim::SimulationReport> RunWithProgress(const sim::Scenario& scenario, const sim::ScenarioRunOptions& options);

}  // namespace fairlead::cli
