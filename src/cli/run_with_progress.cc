#include "cli/run_with_progress.h"

#include "cli/command.h"
#include "cli/simulated_agents.h"
#include "cli/terminal_progress.h"

namespace fairlead::cli {

Result<sim::Scenario> FindScenario(const std::string& path, const std::string& topology) {
  sim::ScenarioOverrides overrides;
  if (!topology.empty()) overrides.topology_file = FindInputFile(topology);
  return sim::LoadScenario(FindInputFile(path), overrides);
}

Result<sim::SimulationReport> RunWithProgress(const sim::Scenario& scenario, sim::ScenarioRunOptions options) {
  if (scenario.simulates_agents) {
    FL_RETURN_IF_ERROR(sim::CheckAgents(scenario));
    FL_ASSIGN_OR_RETURN(options.live_traffic, FindSimulatedAgents());
  }
  TerminalProgress progress;
  auto report = sim::RunScenario(scenario, options, StopRequested(),
                                 [&](double fraction) { progress.Update("simulating", fraction); });
  progress.Finish();
  return report;
}

}  // namespace fairlead::cli
