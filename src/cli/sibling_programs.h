// Commands that are programs of their own, in the folder of this one: `fairlead lab up` is `fairlead-lab up`. So that
// no user builds, installs or starts more than needed.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace fairlead::cli {

struct SiblingCommand {
  std::string_view word;     // its program is fairlead-WORD
  std::string_view summary;  // for the help of `fairlead`
};

// In the order of the help.
std::span<const SiblingCommand> SiblingCommands();

// Its only argument: every program then prints its commands as JSON (command_tree.h).
inline constexpr std::string_view kPrintCommands = "--print-commands";

// Where the program of a sibling's command has to be; it may be missing. Errors: those of ThisProgram().
Result<std::string> SiblingProgram(std::string_view word);

// Becomes the program of argv[1], with the same arguments; does nothing where that is not a sibling's command.
// Returns OK in the latter case only. Errors: kUnavailable: the program is not there, or does not start.
Status RunSibling(int argc, char** argv);

}  // namespace fairlead::cli
