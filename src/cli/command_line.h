// The command line: one function that parses it, runs one command and returns the exit code.
#pragma once

#include <span>

#include "experiment/experiment.h"

namespace fairlead::cli {

// Exit codes: 0 done; 1 the answer is no; 2 usage or bad input; 3 something needed is unavailable; 4 our fault; 130
// stopped by Ctrl-C, what was computed so far is printed and written. Results go to stdout, progress and messages to
// stderr. Where stdout is full, closed, or its reader has gone, the exit code is 3 and files are written all the same
// (checked_stdout.h). `experiments` are what `fairlead experiment` offers; they must outlive the call.
int RunCommandLine(int argc, char** argv, std::span<const experiment::Experiment> experiments);

}  // namespace fairlead::cli
