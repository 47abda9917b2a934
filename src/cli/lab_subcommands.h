// Commands of `fairlead lab` that only this program has, beside those of command.h.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/command.h"

namespace fairlead::cli {

void AddLabPlanCommand(CLI::App* lab, Invocation* invocation);
void AddLabSlurmCommand(CLI::App* lab, Invocation* invocation);

}  // namespace fairlead::cli
