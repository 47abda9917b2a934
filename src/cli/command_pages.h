// Manual and reference pages of the commands, made from their tree.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/command_tree.h"

namespace fairlead::cli {

// File names and contents: `fairlead.1`, and `fairlead-WORD.1` for each of its commands with all commands below it.
// Roff with the macros of man(7). Args: version: for the foot of the page.
std::vector<std::pair<std::string, std::string>> ManPages(const Command& root, const std::string& version);

// One page in Markdown with every command and option.
std::string CommandReferencePage(const Command& root);

}  // namespace fairlead::cli
