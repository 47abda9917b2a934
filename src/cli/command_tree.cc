#include "cli/command_tree.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/sibling_programs.h"

namespace fairlead::cli {

namespace {

std::vector<std::string> SplitAtCommas(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

// "[0.001 - 1e+09]" -> "0.001 to 1e+09"
std::string RangeText(std::string_view brackets) {
  const size_t dash = brackets.find(" - ");
  if (dash == std::string_view::npos) return "";
  const size_t end = brackets.find(']');
  return fmt::format("{} to {}", brackets.substr(1, dash - 1), brackets.substr(dash + 3, end - dash - 3));
}

std::string PlainType(std::string_view type) {
  if (type == "INT" || type == "UINT") return "N";
  if (type == "FLOAT") return "X";
  return std::string(type);
}

CommandOption DescribeOption(const CLI::Option& option) {
  CommandOption described;
  described.is_positional = option.get_positional() && option.get_lnames().empty();
  if (described.is_positional) {
    described.names = {option.get_name(true, false)};
  } else {
    for (const std::string& name : option.get_snames()) described.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) described.names.push_back("--" + name);
  }
  const bool is_flag = option.get_items_expected_max() == 0;
  if (!is_flag) described.value = ParseOptionValue(option.get_type_name());
  described.help = option.get_description();
  described.fallback = is_flag ? "" : option.get_default_str();
  described.variable = option.get_envname();
  described.is_required = option.get_required();
  described.is_repeatable = option.get_items_expected_max() > 1;
  return described;
}

Command Describe(const CLI::App& app, const std::string& parent) {
  Command command;
  command.path = parent.empty() ? app.get_name() : parent + " " + app.get_name();
  command.summary = app.get_description();
  command.footer = app.get_footer();
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) command.options.push_back(DescribeOption(*option));
  }
  for (const CLI::App* inner : app.get_subcommands(nullptr)) {
    if (!inner->get_group().empty()) command.commands.push_back(Describe(*inner, command.path));
  }
  return command;
}

using nlohmann::ordered_json;

ordered_json ToJson(const Command& command) {
  ordered_json options = ordered_json::array();
  for (const CommandOption& option : command.options) {
    options.push_back({{"names", option.names},
                       {"type", option.value.type},
                       {"choices", option.value.choices},
                       {"range", option.value.range},
                       {"help", option.help},
                       {"default", option.fallback},
                       {"variable", option.variable},
                       {"positional", option.is_positional},
                       {"required", option.is_required},
                       {"repeatable", option.is_repeatable}});
  }
  ordered_json commands = ordered_json::array();
  for (const Command& inner : command.commands) commands.push_back(ToJson(inner));
  return {{"command", command.path},
          {"summary", command.summary},
          {"footer", command.footer},
          {"options", std::move(options)},
          {"commands", std::move(commands)}};
}

Command FromJson(const ordered_json& json) {
  Command command;
  command.path = json.at("command").get<std::string>();
  command.summary = json.at("summary").get<std::string>();
  command.footer = json.at("footer").get<std::string>();
  for (const ordered_json& option : json.at("options")) {
    command.options.push_back({.names = option.at("names").get<std::vector<std::string>>(),
                               .value = {.type = option.at("type").get<std::string>(),
                                         .choices = option.at("choices").get<std::vector<std::string>>(),
                                         .range = option.at("range").get<std::string>()},
                               .help = option.at("help").get<std::string>(),
                               .fallback = option.at("default").get<std::string>(),
                               .variable = option.at("variable").get<std::string>(),
                               .is_positional = option.at("positional").get<bool>(),
                               .is_required = option.at("required").get<bool>(),
                               .is_repeatable = option.at("repeatable").get<bool>()});
  }
  for (const ordered_json& inner : json.at("commands")) command.commands.push_back(FromJson(inner));
  return command;
}

// Null: it is not there.
Command* FindCommand(Command* root, const SiblingCommand& sibling) {
  Command* at = root;
  for (const std::string& word : sibling.words()) {
    const auto inner = std::ranges::find(at->commands, word, &Command::name);
    if (inner == at->commands.end()) return nullptr;
    at = &*inner;
  }
  return at;
}

// What a program prints.
Result<std::string> OutputOf(const std::string& program, std::string_view word) {
  const std::vector<std::string> args = {program, std::string(word)};
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(JoinArguments(args).c_str(), "re"), pclose);
  if (pipe == nullptr) return Unavailable(fmt::format("{}: cannot be started", program));
  std::string text;
  char buffer[4096];
  while (const size_t count = std::fread(buffer, 1, sizeof buffer, pipe.get())) text.append(buffer, count);
  return text;
}

}  // namespace

OptionValue ParseOptionValue(std::string_view type_name) {
  // "TYPE:VALIDATOR Excludes: --other"
  type_name = type_name.substr(0, std::min(type_name.find(" Excludes"), type_name.find(" Needs")));
  OptionValue value;
  if (const size_t brace = type_name.find(":{"); brace != std::string_view::npos) {
    value.type = "NAME";
    value.choices = SplitAtCommas(type_name.substr(brace + 2, type_name.rfind('}') - brace - 2));
  } else if (const size_t bracket = type_name.find(" in ["); bracket != std::string_view::npos) {
    value.type = PlainType(type_name.substr(0, type_name.find(':')));
    value.range = RangeText(type_name.substr(bracket + 4));
  } else {
    value.type = PlainType(type_name);
  }
  return value;
}

Command DescribeCommands(const CLI::App& app) { return Describe(app, ""); }

std::string WriteCommand(const Command& command) { return ToJson(command).dump() + "\n"; }

Result<Command> ReadCommand(std::string_view json) {
  try {
    return FromJson(ordered_json::parse(json));
  } catch (const nlohmann::json::exception& error) {
    return InvalidArgument(fmt::format("expected the commands of a program as JSON: {}", error.what()));
  }
}

Result<Command> GatherCommands(const CLI::App& app, std::vector<std::string>* missing) {
  Command all = DescribeCommands(app);
  for (const SiblingCommand& sibling : SiblingCommands()) {
    Command* const own = FindCommand(&all, sibling);
    if (own == nullptr) continue;
    FL_ASSIGN_OR_RETURN(const std::string program, ProgramBeside(sibling.program()));
    if (!std::filesystem::exists(program)) {
      missing->push_back(program);
      continue;
    }
    FL_ASSIGN_OR_RETURN(const std::string json, OutputOf(program, kPrintCommands));
    FL_ASSIGN_OR_RETURN(Command described, ReadCommand(json));
    Command* const command = FindCommand(&described, sibling);
    if (command == nullptr) {
      return Unavailable(
          fmt::format("{} does not have the command {}; is it of another version?", program, sibling.path));
    }
    *own = std::move(*command);
  }
  return all;
}

}  // namespace fairlead::cli
