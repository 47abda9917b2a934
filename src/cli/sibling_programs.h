// Commands that are programs of their own, in the folder of this one: `fairlead lab up` is `fairlead-lab up`, and
// `fairlead sim chaos` is `fairlead-sim-chaos`. So that no user builds, installs or starts more than needed.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fairlead::cli {

struct SiblingCommand {
  std::string_view path;                 // its words, with spaces between
  std::string_view summary;              // for the help of `fairlead`
  std::string_view shared_program = {};  // that has other commands as well; empty: one of its own

  std::vector<std::string> words() const;
  std::string program() const;  // "fairlead-sim-chaos"
};

// In the order of the help.
std::span<const SiblingCommand> SiblingCommands();

// Its only argument: every program then prints its commands as JSON (command_tree.h).
inline constexpr std::string_view kPrintCommands = "--print-commands";

// Where a program has to be that comes with this one; it may be missing. Errors: those of ThisProgram().
Result<std::string> ProgramBeside(std::string_view name);

// Becomes the program of the command that argv names, with the same arguments; does nothing where that is no sibling's.
// Returns OK in the latter case only. Errors: kUnavailable: the program is not there, or does not start.
Status RunSibling(int argc, char** argv);

}  // namespace fairlead::cli
