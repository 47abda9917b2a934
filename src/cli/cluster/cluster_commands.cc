#include "cli/cluster/cluster_commands.h"

namespace fairlead::cli {

void AddClusterCommands(CLI::App& app, Invocation* invocation) {
  AddTopCommand(app, invocation);
  AddGetCommand(app, invocation);
  AddDescribeCommand(app, invocation);
  AddWatchCommand(app, invocation);
  AddOrderCommands(app, invocation);
  AddCheckNodeCommand(app, invocation);
}

}  // namespace fairlead::cli
