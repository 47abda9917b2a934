// fairlead: simulates, explains, checks files, and starts the programs beside it.
#include <vector>

#include "cli/command_line.h"

int main(int argc, char** argv) {
  namespace cli = fairlead::cli;
  return cli::RunFairlead(
      argc, argv,
      std::vector<cli::AddCommands>{cli::AddSimCommands, cli::AddExplainCommand, cli::AddScenarioFileCommands,
                                    cli::AddWorkloadCommands, cli::AddJobCommands, cli::AddReferenceCommands});
}
