// The commands of the programs with their options, as data: what help, completion, man pages and the reference page are
// made from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cli/command.h"

namespace fairlead::cli {

// What an option takes.
struct OptionValue {
  std::string type;                       // "N", "X", "TEXT", "FILE", …; empty: a flag
  std::vector<std::string> choices = {};  // the only values; empty: any
  std::string range = {};                 // "1 to 10000"; empty: any
};

struct CommandOption {
  std::vector<std::string> names;  // "-o", "--output"; of a positional: its name
  OptionValue value;
  std::string help = {};
  std::string fallback = {};  // empty: none
  std::string variable = {};  // environment variable; empty: none
  bool is_positional = false;
  bool is_required = false;
  bool is_repeatable = false;
};

struct Command {
  std::string path;  // "fairlead sim run"
  std::string summary;
  std::string footer = {};  // examples and notes
  std::vector<CommandOption> options = {};
  std::vector<Command> commands = {};

  std::string_view name() const { return std::string_view(path).substr(path.rfind(' ') + 1); }
};

// "UINT:INT in [1 - 10000]" -> N, 1 to 10000; "TEXT:{a,b}" -> choices: how the library names what an option takes.
OptionValue ParseOptionValue(std::string_view type_name);

// Hidden options and commands are left out.
Command DescribeCommands(const CLI::App& app);

// JSON, as programs exchange it. Errors: kInvalidArgument: no such JSON.
std::string WriteCommand(const Command& command);
Result<Command> ReadCommand(std::string_view json);

// Every command of this program and of those beside it. Errors: kUnavailable: a program that is there does not answer.
// Those that are not there are named in `missing`, and have only their summary in the tree.
Result<Command> GatherCommands(const CLI::App& app, std::vector<std::string>* missing);

}  // namespace fairlead::cli
