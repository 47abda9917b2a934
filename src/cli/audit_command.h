// The commands about audit logs.
#pragma once

#include "cli/command.h"

namespace fairlead::cli {

void AddAuditCommands(CLI::App& app, Invocation* invocation);

}  // namespace fairlead::cli
