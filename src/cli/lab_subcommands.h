// Commands of `fairlead lab` that only this program has, beside those of command.h, and what they share.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/command.h"

namespace fairlead::cli {

void AddLabPlanCommand(CLI::App* lab, Invocation* invocation);
void AddLabSlurmCommand(CLI::App* lab, Invocation* invocation);

// --trainer. Args: trainer: as lab::FindTrainer().
void AddTrainerOption(CLI::App* command, std::string* trainer);

}  // namespace fairlead::cli
