// The command line: one function that parses it, runs one command and returns the exit code.
#pragma once

namespace fairlead::cli {

// Exit codes: 0 done; 1 the answer is no; 2 usage or bad input; 3 something needed is unavailable; 4 our fault; 130
// stopped by Ctrl-C, what was computed so far is printed and written. Results go to stdout, progress and messages to
// stderr.
int RunCommandLine(int argc, char** argv);

}  // namespace fairlead::cli
