#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>

#include "cli/command.h"
#include "version.h"

namespace fairlead::cli {

int RunCommandLine(int argc, char** argv) {
  CLI::App app("Fairlead: makes a shared deep-learning training cluster waste fewer GPU-hours.", "fairlead");
  app.set_version_flag("--version", std::string("fairlead ") + std::string(kVersion));
  app.require_subcommand(1);
  app.footer(
      "Example: fairlead sim run scenarios/lingjun-snapshot.yaml --html report.html\n"
      "Exit codes: 0 done, 1 the answer is no, 2 usage or bad input, 3 unavailable, 4 internal error, 130 Ctrl-C.");
  int exit_code = kExitOk;
  AddSimCommands(app, &exit_code);
  AddExplainCommand(app, &exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e, std::cout, std::cerr) == 0 ? kExitOk : kExitBadInput;
  } catch (const std::exception& e) {
    return ReportError(Internal(e.what()));
  }
  return exit_code;
}

}  // namespace fairlead::cli
