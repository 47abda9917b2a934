#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/checked_stdout.h"
#include "cli/command.h"
#include "cli/command_words.h"
#include "cli/number_options.h"
#include "cli/sibling_programs.h"
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

// One parser, and what it was called with.
class CommandLine {
 public:
  explicit CommandLine(std::span<const AddCommands> commands) {
    app_.set_version_flag("--version", std::string("fairlead ") + std::string(kVersion));
    app_.require_subcommand(1);
    app_.footer(
        "Example: fairlead sim run scenarios/lingjun-snapshot.yaml --html report.html\n"
        "Exit codes: 0 done, 1 the answer is no, 2 usage or bad input, 3 unavailable, 4 internal error, 130 Ctrl-C.");
    for (const AddCommands& add : commands) add(app_, &invocation_);
    CheckNumberOptions(&app_);
  }

  CLI::App& app() { return app_; }

  int Run(const std::vector<std::string>& words) {
    std::vector<std::string> line = {"fairlead"};
    line.insert(line.end(), words.begin(), words.end());
    invocation_.command_line = JoinWords(line);
    if (Status status = CheckCommandWords(app_, words); !status.ok()) return ReportError(status);
    try {
      app_.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 wants the last one first
    } catch (const CLI::ExtrasError& e) {
      return ReportError(
          InvalidArgument(e.what() + DidYouMeanOption(app_, words, app_.remaining(true)) + "; see --help"));
    } catch (const CLI::ParseError& e) {
      return ReportParseError(app_, e);
    } catch (const std::exception& e) {
      return ReportError(Internal(e.what()));
    }
    return invocation_.exit_code;
  }

 private:
  CLI::App app_{"Fairlead: makes a shared deep-learning training cluster waste fewer GPU-hours.", "fairlead"};
  Invocation invocation_;
};

std::vector<std::string> Words(int argc, char** argv) { return {argv + std::min(argc, 1), argv + argc}; }

}  // namespace

int RunFairlead(int argc, char** argv, std::span<const AddCommands> commands) {
  if (Status status = RunSibling(argc, argv); !status.ok()) return ReportError(status);
  CheckedStdout checked_stdout;
  CommandLine line(commands);
  for (const SiblingCommand& sibling : SiblingCommands()) {
    line.app().add_subcommand(std::string(sibling.word), std::string(sibling.summary));
  }
  std::vector<std::string> words = Words(argc, argv);
  if (words.empty()) words.emplace_back("--help");
  return checked_stdout.Finish(line.Run(words));
}

int RunSiblingCommandLine(int argc, char** argv, const AddCommands& command) {
  CheckedStdout checked_stdout;
  CommandLine line({&command, 1});
  const std::string own = line.app().get_subcommands(nullptr).front()->get_name();
  std::vector<std::string> words = Words(argc, argv);
  if (words.empty() || (words.front() != own && words.front() != "--version")) words.insert(words.begin(), own);
  return checked_stdout.Finish(line.Run(words));
}

}  // namespace fairlead::cli
