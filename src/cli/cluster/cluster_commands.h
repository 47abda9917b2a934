// The commands that ask a running controller; together the program fairlead-client.
#pragma once

#include "cli/command.h"

namespace fairlead::cli {

void AddGetCommand(CLI::App& app, Invocation* invocation);
void AddDescribeCommand(CLI::App& app, Invocation* invocation);
void AddWatchCommand(CLI::App& app, Invocation* invocation);
void AddTopCommand(CLI::App& app, Invocation* invocation);
void AddOrderCommands(CLI::App& app, Invocation* invocation);
void AddCheckNodeCommand(CLI::App& app, Invocation* invocation);

// All of them.
void AddClusterCommands(CLI::App& app, Invocation* invocation);

}  // namespace fairlead::cli
