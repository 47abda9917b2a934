// fairlead completion, man, reference: what is made from the tree of all commands.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/command_pages.h"
#include "cli/command_tree.h"
#include "cli/named_choice.h"
#include "cli/shell_completion.h"
#include "version.h"

namespace fairlead::cli {

namespace {

// The commands of all programs. Says which are missing.
Result<Command> AllCommands(const CLI::App& app) {
  std::vector<std::string> missing;
  auto commands = GatherCommands(app, &missing);
  if (!missing.empty())
    fmt::print(stderr, "fairlead: without the commands of {}: not built\n", fmt::join(missing, ", "));
  return commands;
}

int Print(const Result<std::string>& text) {
  if (!text.ok()) return ReportError(text.status());
  const Status written = WriteOutput("-", *text);
  return written.ok() ? kExitOk : ReportError(written);
}

Result<std::string> Completion(const CLI::App& app, const std::string& shell) {
  FL_ASSIGN_OR_RETURN(const Command commands, AllCommands(app));
  if (shell == "bash") return BashCompletion(commands);
  return shell == "zsh" ? ZshCompletion(commands) : FishCompletion(commands);
}

Status WriteManPages(const CLI::App& app, const std::string& folder) {
  FL_ASSIGN_OR_RETURN(const Command commands, AllCommands(app));
  for (const auto& [name, page] : ManPages(commands, std::string(kVersion))) {
    const std::string path = (std::filesystem::path(folder) / name).string();
    FL_RETURN_IF_ERROR(PrepareOutputFolder(path));
    FL_RETURN_IF_ERROR(WriteOutput(path, page));
  }
  return OkStatus();
}

Result<std::string> Reference(const CLI::App& app) {
  FL_ASSIGN_OR_RETURN(const Command commands, AllCommands(app));
  return CommandReferencePage(commands);
}

}  // namespace

void AddReferenceCommands(CLI::App& app, Invocation* invocation) {
  auto shell = std::make_shared<std::string>();
  CLI::App* completion = app.add_subcommand("completion", "Print a completion script for a shell.");
  completion->add_option("SHELL", *shell, "bash, zsh or fish")->required()->check(OneOf({"bash", "zsh", "fish"}));
  completion->footer(
      "Example: source <(fairlead completion bash)\n"
      "Permanently: fairlead completion bash > /etc/bash_completion.d/fairlead\n"
      "          fairlead completion zsh > /usr/local/share/zsh/site-functions/_fairlead\n"
      "          fairlead completion fish > ~/.config/fish/completions/fairlead.fish");
  completion->callback([&app, shell, invocation] { invocation->exit_code = Print(Completion(app, *shell)); });

  auto folder = std::make_shared<std::string>();
  CLI::App* man = app.add_subcommand("man", "Write the manual pages of all commands to a folder.");
  man->add_option("FOLDER", *folder, "Folder for fairlead.1 and the others; it is made if it is missing")->required();
  man->footer("Example: fairlead man man1 && man -l man1/fairlead-sim.1");
  man->callback([&app, folder, invocation] {
    const Status status = WriteManPages(app, *folder);
    invocation->exit_code = status.ok() ? kExitOk : ReportError(status);
  });

  CLI::App* reference =
      app.add_subcommand("reference", "Print a reference page in Markdown with every command and option.");
  reference->footer("Example: fairlead reference > commands.md");
  reference->callback([&app, invocation] { invocation->exit_code = Print(Reference(app)); });
}

}  // namespace fairlead::cli
