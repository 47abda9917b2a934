// fairlead-sim-agents: fairlead for scenarios in which agents are simulated (src/cli/simulated_agents.h).
#include <vector>

#include "cli/command_line.h"

int main(int argc, char** argv) {
  namespace cli = fairlead::cli;
  return cli::RunFairlead(argc, argv, std::vector<cli::AddCommands>{cli::AddSimCommands, cli::AddExplainCommand});
}
