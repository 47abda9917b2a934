// fairlead-experiment: src/cli/experiment_command.cc with the experiments of experiments/.
#include "cli/command_line.h"
#include "experiments/all_experiments.h"

int main(int argc, char** argv) {
  const auto experiments = fairlead::experiments::AllExperiments();
  return fairlead::cli::RunSiblingCommandLine(argc, argv, [&](CLI::App& app, fairlead::cli::Invocation* invocation) {
    fairlead::cli::AddExperimentCommands(app, experiments, invocation);
  });
}
