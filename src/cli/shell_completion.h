// Completion scripts for shells, made from the tree of commands.
#pragma once

#include <string>

#include "cli/command_tree.h"

namespace fairlead::cli {

// Each completes commands, options, their choices (also in lists with commas), and file names where an option takes
// something else. Args: root: of `fairlead`, with the commands of all programs: `fairlead-lab` completes as
// `fairlead lab` does.
std::string BashCompletion(const Command& root);
std::string ZshCompletion(const Command& root);
std::string FishCompletion(const Command& root);

}  // namespace fairlead::cli
