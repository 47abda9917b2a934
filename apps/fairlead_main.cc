// The fairlead program: everything is in src/cli.
#include "cli/command_line.h"

int main(int argc, char** argv) { return fairlead::cli::RunCommandLine(argc, argv); }
