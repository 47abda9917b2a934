#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <sstream>
#include <string>
#include <vector>

#include "cli/checked_stdout.h"
#include "cli/command.h"
#include "cli/number_options.h"
#include "version.h"

namespace fairlead::cli {

namespace {

// Help and version go to stdout, one line about bad usage to stderr.
int ReportParseError(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream out;
  std::ostringstream err;
  if (app.exit(error, out, err) != 0) return ReportError(InvalidArgument(std::string(error.what()) + "; see --help"));
  std::fputs(out.str().c_str(), stdout);
  return kExitOk;
}

int RunCommand(int argc, char** argv, std::span<const experiment::Experiment> experiments) {
  CLI::App app("Fairlead: makes a shared deep-learning training cluster waste fewer GPU-hours.", "fairlead");
  app.set_version_flag("--version", std::string("fairlead ") + std::string(kVersion));
  app.require_subcommand(1);
  app.footer(
      "Example: fairlead sim run scenarios/lingjun-snapshot.yaml --html report.html\n"
      "Exit codes: 0 done, 1 the answer is no, 2 usage or bad input, 3 unavailable, 4 internal error, 130 Ctrl-C.");
  std::vector<std::string> words = {"fairlead"};
  words.insert(words.end(), argv + std::min(argc, 1), argv + argc);
  Invocation invocation{.command_line = JoinWords(words)};
  AddSimCommands(app, &invocation);
  AddExplainCommand(app, &invocation);
  AddDiagCommands(app, &invocation);
  AddWorkloadCommands(app, &invocation);
  AddPredictCommands(app, &invocation);
  AddTraceCommands(app, &invocation);
  AddControllerCommand(app, &invocation);
  AddAgentCommands(app, &invocation);
  AddCertCommands(app, &invocation);
  AddLabCommands(app, &invocation);
  AddExperimentCommands(app, experiments, &invocation);
  CheckNumberOptions(&app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return ReportParseError(app, e);
  } catch (const std::exception& e) {
    return ReportError(Internal(e.what()));
  }
  return invocation.exit_code;
}

}  // namespace

int RunCommandLine(int argc, char** argv, std::span<const experiment::Experiment> experiments) {
  CheckedStdout checked_stdout;
  return checked_stdout.Finish(RunCommand(argc, argv, experiments));
}

}  // namespace fairlead::cli
