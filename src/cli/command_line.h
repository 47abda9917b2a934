// The command line: one function that parses it, runs one command and returns the exit code.
#pragma once

#include <functional>
#include <span>

#include "cli/command.h"

namespace fairlead::cli {

using AddCommands = std::function<void(CLI::App& app, Invocation* invocation)>;

// Exit codes: 0 done; 1 a check failed; 2 usage or bad input; 3 something needed is unavailable; 4 our fault; 130
// stopped by Ctrl-C, what was computed so far is printed and written. Results go to stdout, progress and messages to
// stderr. Where stdout is full, closed, or its reader has gone, the exit code is 3 and files are still written
// (checked_stdout.h).

// `fairlead`: its own commands, and those of the programs beside it (sibling_programs.h).
int RunFairlead(int argc, char** argv, std::span<const AddCommands> commands);

// The program of one sibling's command, with or without its words: `fairlead-lab up` and `fairlead-lab lab up`.
int RunSiblingCommandLine(int argc, char** argv, const AddCommands& command);

}  // namespace fairlead::cli
