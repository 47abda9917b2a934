// fairlead-audit: src/cli/audit_command.cc.
#include "cli/command_line.h"

int main(int argc, char** argv) {
  return fairlead::cli::RunSiblingCommandLine(argc, argv, fairlead::cli::AddAuditCommands);
}
