// The fairlead program: everything is in src/cli and experiments.
#include "cli/command_line.h"
#include "experiments/all_experiments.h"

int main(int argc, char** argv) {
  const auto experiments = fairlead::experiments::AllExperiments();
  return fairlead::cli::RunCommandLine(argc, argv, experiments);
}
