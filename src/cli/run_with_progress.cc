#include "cli/run_with_progress.h"

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/simulated_agents.h"
#include "cli/terminal_progress.h"

namespace fairlead::cli {

void AddScenarioOptions(CLI::App* command, ScenarioOptions* options) {
  command->add_option("--topology", options->topology,
                      "Fabric (YAML) or Lingjun topo.csv instead of the scenario's fabric");
  command
      ->add_option("--set", options->values,
                   "A value in place of the scenario's, such as fabric.oversubscription=4:1, jobs.bert.gpus=32 or "
                   "crux.path_unit=job; an empty VALUE takes the key away. May be given several times")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all();
}

Result<sim::Scenario> FindScenario(const std::string& path, const ScenarioOptions& options) {
  sim::ScenarioOverrides overrides;
  if (!options.topology.empty()) overrides.topology_file = FindInputFile(options.topology);
  overrides.values = options.values;
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
