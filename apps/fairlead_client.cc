// fairlead-client: src/cli/cluster/cluster_commands.h.
#include "cli/cluster/cluster_commands.h"
#include "cli/command_line.h"

int main(int argc, char** argv) {
  return fairlead::cli::RunSiblingCommandLine(argc, argv, fairlead::cli::AddClusterCommands);
}
