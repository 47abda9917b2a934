// Finds a scenario, and runs it with a progress bar on the terminal and Ctrl-C wired to its stop flag.
#pragma once

#include <string>

#include "base/status.h"
#include "sim/run_result.h"
#include "sim/scenario.h"
#include "sim/scenario_runner.h"

namespace fairlead::cli {

// The scenario at `path`, on the fabric of the file `topology` unless that is empty; both are looked for as
// FindInputFile does.
Result<sim::Scenario> FindScenario(const std::string& path, const std::string& topology);

// The bar is shown when stderr is a terminal. A scenario in which agents are simulated makes this process another
// program where this one can't (simulated_agents.h), so call it before there is any output.
Result<sim::SimulationReport> RunWithProgress(const sim::Scenario& scenario, sim::ScenarioRunOptions options);

}  // namespace fairlead::cli
