#include "cli/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/checked_stdout.h"
#include "cli/command.h"
#include "cli/command_names.h"
#include "cli/command_tree.h"
#include "cli/daemon_config.h"
#include "cli/number_options.h"
#include "cli/sibling_programs.h"
#include "report/printable_text.h"
#include "report/text_table.h"
#include "version.h"

namespace fairlead::cli {

namespace {

// Options as people read them: "--seeds N (1 to 10000)" instead of "--seeds UINT:INT in [1 - 10000]".
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    std::string text;
    if (option->get_items_expected_max() > 0) text = Value(ParseOptionValue(option->get_type_name()));
    if (!option->get_default_str().empty()) text += fmt::format(" [{}]", option->get_default_str());
    if (option->get_items_expected_max() > 1) text += " ...";
    if (option->get_required()) text += ", required";
    return text;
  }

  // Choices that are too many for the column of names come after the help.
  std::string make_option_desc(const CLI::Option* option) const override {
    const OptionValue value = ParseOptionValue(option->get_type_name());
    std::string help = option->get_description();
    if (!IsShort(value.choices)) help += fmt::format(": {}", fmt::join(value.choices, ", "));
    return Wrapped(help);
  }

  std::string make_subcommand(const CLI::App* command) const override {
    return fmt::format("  {:<{}}{}\n", command->get_name(), kHelpColumn - 2,
                       Indented(Wrapped(command->get_description())));
  }

 private:
  static constexpr size_t kHelpColumn = 30;  // the library's default

  // Without the line break at the end; the library indents what comes after the others.
  static std::string Wrapped(const std::string& help) {
    std::string text = report::WrapText(help, report::kTextWidth - kHelpColumn, 0);
    while (text.ends_with('\n')) text.pop_back();
    return text;
  }

  static std::string Indented(const std::string& text) {
    std::string indented;
    for (const char c : text) {
      indented += c;
      if (c == '\n') indented.append(kHelpColumn, ' ');
    }
    return indented;
  }

  static bool IsShort(const std::vector<std::string>& choices) {
    return fmt::format("{}", fmt::join(choices, "|")).size() < 32;
  }

  static std::string Value(const OptionValue& value) {
    if (!value.choices.empty())
      return IsShort(value.choices) ? fmt::format(" {}", fmt::join(value.choices, "|")) : " NAME";
    if (!value.range.empty()) return fmt::format(" {} ({})", value.type, value.range);
    return value.type.empty() ? "" : " " + value.type;
  }
};

// Help and version go to stdout, one line about bad usage to stderr. `place`: where the option of the error was given.
// The parser's message about a number that is out of its range, or is none, as all our messages are.
std::string ExpectedNumber(const std::string& message) {
  // Bounds that are no integers have six digits behind the point.
  static const std::regex kOutOfRange(
      R"(Value (.*) not in range (-?\d+(?:\.\d*[1-9])?)\.?0* to (-?\d+(?:\.\d*[1-9])?)\.?0*)");
  return std::regex_replace(message, kOutOfRange, "expected a number from $2 to $3, found '$1'");
}

int ReportParseError(const CLI::App& app, const CLI::ParseError& error, const std::string& place) {
  std::ostringstream out;
  std::ostringstream err;
  if (app.exit(error, out, err) != 0) {
    return ReportError(InvalidArgument(ExpectedNumber(error.what()) + place + "; see --help"));
  }
  std::fputs(out.str().c_str(), stdout);
  return kExitOk;
}

// One parser, and what it was called with.
class CommandLine {
 public:
  explicit CommandLine(std::span<const AddCommands> commands) {
    app_.set_version_flag("--version", std::string("fairlead ") + std::string(kVersion));
    app_.require_subcommand(1);
    app_.formatter(std::make_shared<HelpFormatter>());
    app_.footer(
        "Example: fairlead sim run scenarios/lingjun-snapshot.yaml --html report.html\nExit codes: 0 done, 1 a check "
        "failed, 2 wrong usage or input, 3 something needed is unavailable,\n            4 internal error, 130 Ctrl-C, "
        "143 SIGTERM.");
    for (const AddCommands& add : commands) add(app_, &invocation_);
    CheckNumberOptions(&app_);
  }

  CLI::App& app() { return app_; }

  int Run(const std::vector<std::string>& args) {
    std::vector<std::string> line = {"fairlead"};
    line.insert(line.end(), args.begin(), args.end());
    invocation_.command_line = JoinArguments(line);
    if (args == std::vector<std::string>{std::string(kPrintCommands)}) {
      const Status written = WriteOutput("-", WriteCommand(DescribeCommands(app_)));
      return written.ok() ? kExitOk : ReportError(written);
    }
    if (Status status = CheckCommandNames(app_, args); !status.ok()) return ReportError(status);
    const Result<DaemonArguments> all = AddConfiguredArguments(app_, args);
    if (!all.ok()) return ReportError(all.status());
    try {
      app_.parse(std::vector<std::string>(all->args.rbegin(), all->args.rend()));  // CLI11 wants the last one first
    } catch (const CLI::ExtrasError&) {
      return ReportError(InvalidArgument(DescribeUnknown(app_, args, app_.remaining(true)) + "; see --help"));
    } catch (const CLI::ParseError& e) {
      return ReportParseError(app_, e, DescribePlace(*all, e.what()));
    } catch (const std::exception& e) {
      return ReportError(Internal(e.what()));
    }
    return invocation_.exit_code;
  }

 private:
  CLI::App app_{"Fairlead: makes a shared deep-learning training cluster waste fewer GPU-hours.", "fairlead"};
  Invocation invocation_;
};

// The words of the sibling whose command the program has; none where it has several, of which the user names one.
std::vector<std::string> OwnWords(const CLI::App& app) {
  for (const SiblingCommand& sibling : SiblingCommands()) {
    std::vector<std::string> words = sibling.words();
    if (sibling.shared_program.empty() && FindCommand(app, words).get_name() == words.back()) return words;
  }
  return {};
}

std::vector<std::string> Args(int argc, char** argv) { return {argv + std::min(argc, 1), argv + argc}; }

}  // namespace

int RunFairlead(int argc, char** argv, std::span<const AddCommands> commands) {
  if (Status status = RunSibling(argc, argv); !status.ok()) return ReportError(status);
  CheckedStdout checked_stdout;
  CommandLine line(commands);
  for (const SiblingCommand& sibling : SiblingCommands()) {
    std::vector<std::string> groups = sibling.words();
    const std::string word = std::move(groups.back());
    groups.pop_back();
    CLI::App* parent = &line.app();
    for (const std::string& group : groups) parent = parent->get_subcommand(group);
    parent->add_subcommand(word, std::string(sibling.summary));
  }
  std::vector<std::string> args = Args(argc, argv);
  if (args.empty()) args.emplace_back("--help");
  return checked_stdout.Finish(line.Run(args));
}

int RunSiblingCommandLine(int argc, char** argv, const AddCommands& command) {
  CheckedStdout checked_stdout;
  CommandLine line({&command, 1});
  const std::vector<std::string> own = OwnWords(line.app());
  std::vector<std::string> args = Args(argc, argv);
  const bool is_whole = !args.empty() && (args.front() == "--version" || args.front() == kPrintCommands);
  const bool has_own = std::ranges::mismatch(own, args).in1 == own.end();
  if (!is_whole && !has_own) args.insert(args.begin(), own.begin(), own.end());
  return checked_stdout.Finish(line.Run(args));
}

}  // namespace fairlead::cli
