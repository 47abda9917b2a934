#include "cli/command_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "base/nearest_word.h"

namespace fairlead::cli {

namespace {

std::vector<std::string> CommandsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  return names;
}

const CLI::App* ChildNamed(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    if (command->get_name() == name) return command;
  }
  return nullptr;
}

// "fairlead lab"
std::string PathOf(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : PathOf(*app.get_parent()) + ' ' + app.get_name();
}

// The command that the arguments name, and how many of them it took.
std::pair<const CLI::App*, size_t> Follow(const CLI::App& app, std::span<const std::string> args) {
  const CLI::App* at = &app;
  for (size_t i = 0; i < args.size(); ++i) {
    const CLI::App* next = ChildNamed(*at, args[i]);
    if (next == nullptr) return {at, i};
    at = next;
  }
  return {at, args.size()};
}

}  // namespace

Status CheckCommandNames(const CLI::App& app, std::span<const std::string> args) {
  const auto [group, used] = Follow(app, args);
  const std::vector<std::string> commands = CommandsOf(*group);
  if (commands.empty()) return OkStatus();
  if (used == args.size()) {
    return InvalidArgument(
        fmt::format("`{0}` needs a command: {1}; see {0} --help", PathOf(*group), fmt::join(commands, ", ")));
  }
  const std::string& word = args[used];
  if (word.starts_with('-')) return OkStatus();  // an option of the group, or none: the parser knows
  std::string meant = DidYouMean(word, commands);
  if (meant.empty()) meant = fmt::format("; it has {}", fmt::join(commands, ", "));
  return InvalidArgument(fmt::format("'{}' is not a command of `{}`{}", word, PathOf(*group), meant));
}

const CLI::App& FindCommand(const CLI::App& app, std::span<const std::string> args) { return *Follow(app, args).first; }

std::string DescribeUnknown(const CLI::App& app, std::span<const std::string> args,
                            std::span<const std::string> unknown) {
  const CLI::App* command = Follow(app, args).first;
  std::vector<std::string> names;
  for (const CLI::Option* option : command->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const std::string& word : unknown) {
    if (!word.starts_with('-')) continue;
    const std::string option = word.substr(0, word.find('='));
    return fmt::format("`{}` has no option '{}'{}", PathOf(*command), option, DidYouMean(option, names));
  }
  std::vector<std::string> taken;
  for (const CLI::Option* option : command->get_options()) {
    if (option->get_positional()) taken.push_back(option->get_name(true));
  }
  if (taken.empty()) return fmt::format("`{}` takes no arguments, found '{}'", PathOf(*command), unknown.front());
  return fmt::format("`{}` takes only {}; '{}' is one too many", PathOf(*command), fmt::join(taken, " "),
                     unknown.front());
}

}  // namespace fairlead::cli
