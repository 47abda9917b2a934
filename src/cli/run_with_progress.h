// Finds a scenario, and runs it with a progress bar on the terminal and Ctrl-C wired to its stop flag.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "sim/run_result.h"
#include "sim/scenario.h"
#include "sim/scenario_runner.h"

// NOLINTNEXTLINE(readability-identifier-naming): the library's name
namespace CLI {
class App;
}

namespace fairlead::cli {

// What the options of a command change of the scenario that it names.
struct ScenarioOptions {
  std::string topology;
  std::vector<std::string> values;  // sim::ScenarioOverrides::values
};
// --topology and --set. The options must outlive the command.
void AddScenarioOptions(CLI::App* command, ScenarioOptions* options);

// The scenario at `path`; it and the topology are looked for as FindInputFile does.
Result<sim::Scenario> FindScenario(const std::string& path, const ScenarioOptions& options);

// The bar is shown when stderr is a terminal. A scenario in which agents are simulated makes this process another
// program where this one can't (simulated_agents.h), so call it before there is any output.
Result<sim::SimulationReport> RunWithProgress(const sim::Scenario& scenario, sim::ScenarioRunOptions options);

}  // namespace fairlead::cli
