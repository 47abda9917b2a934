#include "cli/daemon_config.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <optional>

#include "base/yaml_reader.h"
#include "cli/command_names.h"

namespace fairlead::cli {
namespace {

constexpr std::string_view kConfig = "config";

// "tls-ca" -> "TLS_CA"
std::string VariableName(std::string_view option) {
  std::string name;
  for (const char c : option) {
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

bool IsFlag(const CLI::Option& option) { return option.get_items_expected_max() == 0; }

// Options that the file and the environment may set: those with a variable.
std::vector<const CLI::Option*> ConfigurableOptions(const CLI::App& command) {
  std::vector<const CLI::Option*> options;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_envname().empty() && !option->check_lname(std::string(kConfig))) options.push_back(option);
  }
  return options;
}

bool IsNamed(const CLI::Option& option, std::string_view argument) {
  const std::string_view name = argument.substr(0, argument.find('='));
  return std::ranges::any_of(option.get_lnames(), [&](const std::string& known) { return name == "--" + known; }) ||
         std::ranges::any_of(option.get_snames(), [&](const std::string& known) { return argument == "-" + known; });
}

// The options that `args` give, with the value of the last mention, if it has one. An argument that is the value of an
// option names none, whatever it looks like.
std::map<const CLI::Option*, std::optional<std::string>> GivenOptions(const CLI::App& command,
                                                                      std::span<const std::string> args) {
  std::map<const CLI::Option*, std::optional<std::string>> given;
  for (size_t i = 0; i < args.size(); ++i) {
    const auto options = command.get_options();
    const auto found = std::ranges::find_if(options, [&](const CLI::Option* o) { return IsNamed(*o, args[i]); });
    if (found == options.end()) continue;
    std::optional<std::string>& value = given[*found];
    if (const size_t equals = args[i].find('='); equals != std::string::npos) {
      value = args[i].substr(equals + 1);
    } else if (!IsFlag(**found) && i + 1 < args.size()) {
      value = args[++i];
    }
  }
  return given;
}

std::optional<std::string> VariableOf(const CLI::Option& option) {
  const char* value = std::getenv(option.get_envname().c_str());
  return value == nullptr || *value == '\0' ? std::nullopt : std::make_optional<std::string>(value);
}

// Adds the arguments that set an option as its key in the file does.
void AddArguments(const CLI::Option& option, const std::string& key, YamlMap* root, DaemonArguments* found) {
  const std::vector<std::string> texts = root->Texts(key);
  if (!root->Has(key)) return;
  const std::string name = "--" + option.get_lnames().front();
  found->places[name] = root->Where(key);
  for (const std::string& text : texts) {
    if (!IsFlag(option) && text.empty()) {
      found->args.insert(found->args.end(), {name, text});  // "--name=" is no value to the parser
    } else if (!IsFlag(option)) {
      found->args.push_back(fmt::format("{}={}", name, text));
    } else if (text == "true") {
      found->args.push_back(name);
    } else if (text != "false") {
      root->Fail(key, fmt::format("expected true or false, found '{}'", text));
    }
  }
}

Status AddFile(const CLI::App& command, const std::string& file,
               const std::map<const CLI::Option*, std::optional<std::string>>& given, DaemonArguments* found) {
  FL_ASSIGN_OR_RETURN(const YamlDocument document, YamlDocument::LoadFile(file));
  YamlMap root = document.Root();
  for (const CLI::Option* option : ConfigurableOptions(command)) {
    const bool is_open = !VariableOf(*option) && !given.contains(option);
    DaemonArguments unused;
    for (const std::string& key : option->get_lnames()) AddArguments(*option, key, &root, is_open ? found : &unused);
  }
  return root.Finish();
}

}  // namespace

void AddDaemonConfig(CLI::App* command, std::string_view prefix) {
  command->add_option("--config", "YAML file with more options")->expected(1)->type_name("FILE");
  for (CLI::Option* option : command->get_options()) {
    if (option->get_lnames().empty() || option == command->get_help_ptr()) continue;
    option->envname(fmt::format("{}_{}", prefix, VariableName(option->get_lnames().front())));
    if (option->get_items_expected_max() > 1) option->delimiter(',');
  }
  command->footer(fmt::format(
      "{}\nOptions may also be set in a YAML file (--config), named without the dashes, and in the environment\n"
      "as {}_ and the option in capitals: {}_TLS_CA for --tls-ca.\n"
      "The command line wins over the environment, the environment over the file.",
      command->get_footer(), prefix, prefix));
}

Result<DaemonArguments> AddConfiguredArguments(const CLI::App& app, std::span<const std::string> args) {
  DaemonArguments found;
  found.args.assign(args.begin(), args.end());
  const CLI::App& command = FindCommand(app, args);
  const CLI::Option* config = command.get_option_no_throw("--" + std::string(kConfig));
  if (config == nullptr) return found;
  const auto given = GivenOptions(command, args);
  if (given.contains(command.get_help_ptr())) return found;
  for (const CLI::Option* option : ConfigurableOptions(command)) {
    if (!VariableOf(*option) || given.contains(option)) continue;
    found.places["--" + option->get_lnames().front()] = "$" + option->get_envname();
  }
  const auto named = given.find(config);
  const std::optional<std::string> file = named == given.end() ? VariableOf(*config) : named->second;
  if (file) FL_RETURN_IF_ERROR(AddFile(command, *file, given, &found));
  return found;
}

std::string DescribePlace(const DaemonArguments& args, std::string_view message) {
  for (const auto& [option, place] : args.places) {
    const size_t at = message.find(option);  // "--lease: …", "Could not convert: --lease = …"
    if (at == std::string_view::npos) continue;
    const std::string_view rest = message.substr(at + option.size());
    if (rest.starts_with(':') || rest.starts_with(' ')) return fmt::format(" ({})", place);
  }
  return "";
}

}  // namespace fairlead::cli
