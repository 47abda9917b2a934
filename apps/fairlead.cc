// fairlead: simulates, explains, checks files, and starts the programs beside it.
#include <vector>

#include "cli/command_line.h"

int main(int argc, char** argv) {
  using namespace fairlead::cli;
  return RunFairlead(argc, argv,
                     std::vector<AddCommands>{AddSimCommands, AddExplainCommand, AddScenarioFileCommands,
                                              AddWorkloadCommands, AddReferenceCommands});
}
