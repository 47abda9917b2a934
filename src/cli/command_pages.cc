#include "cli/command_pages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "cli/text_lines.h"

namespace fairlead::cli {

namespace {

// "--seeds N", "-o, --output FILE", "SCENARIO"
std::string Usage(const CommandOption& option, std::string_view separator) {
  std::string usage = fmt::format("{}", fmt::join(option.names, separator));
  if (!option.is_positional && !option.value.type.empty()) {
    usage += ' ';
    usage += option.value.type;
  }
  return usage;
}

// What an option takes and what holds without it, behind its help.
std::string Details(const CommandOption& option) {
  std::vector<std::string> parts;
  if (option.is_required) parts.emplace_back("required");
  if (option.is_repeatable) parts.emplace_back("repeatable");
  if (!option.value.choices.empty()) parts.push_back(fmt::format("one of {}", fmt::join(option.value.choices, ", ")));
  if (!option.value.range.empty()) parts.push_back(option.value.range);
  if (!option.fallback.empty()) parts.push_back("default " + option.fallback);
  if (!option.variable.empty()) parts.push_back("environment " + option.variable);
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string Synopsis(const Command& command) {
  std::string synopsis = command.path;
  if (!command.commands.empty()) return synopsis + " COMMAND";
  synopsis += " [OPTIONS]";
  for (const CommandOption& option : command.options) {
    if (option.is_positional) {
      const std::string name = option.names.front() + (option.is_repeatable ? "..." : "");
      synopsis += option.is_required ? " " + name : fmt::format(" [{}]", name);
    } else if (option.is_required) {
      synopsis += " " + Usage({.names = {option.names.back()}, .value = option.value}, "");
    }
  }
  return synopsis;
}

// --- man

std::string Roff(std::string_view text) {
  std::string escaped;
  bool at_start = true;
  for (const char c : text) {
    if (at_start && (c == '.' || c == '\'')) escaped += "\\&";
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
    at_start = c == '\n';
  }
  return escaped;
}

std::string ManOptions(const Command& command) {
  std::string page;
  for (const CommandOption& option : command.options) {
    const std::string details = Details(option);
    page += fmt::format(".TP\n.B {}\n{}{}\n", Roff(Usage(option, ", ")), Roff(option.help),
                        details.empty() ? "" : Roff(fmt::format(" ({})", details)));
  }
  return page;
}

std::string ManFooter(const Command& command) {
  if (command.footer.empty()) return "";
  std::string page = ".PP\n.nf\n";
  for (const std::string& line : LinesOf(command.footer)) page += Roff(line) + "\n";
  return page + ".fi\n";
}

// A command below that of the page.
void AddManCommand(const Command& command, std::string* page) {
  *page += fmt::format(".SS {}\n{}\n.PP\n.B {}\n{}{}", Roff(command.path), Roff(command.summary),
                       Roff(Synopsis(command)), ManOptions(command), ManFooter(command));
  for (const Command& inner : command.commands) AddManCommand(inner, page);
}

std::string ManPage(const Command& root, const Command& command, const std::string& version) {
  std::string name = command.path;
  std::ranges::replace(name, ' ', '-');
  std::string title = name;
  std::ranges::transform(title, title.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  std::string page =
      fmt::format(".TH \"{}\" 1 \"\" \"Fairlead {}\" \"Fairlead\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.B {}\n",
                  Roff(title), version, Roff(name), Roff(command.summary), Roff(Synopsis(command)));
  page += ".SH OPTIONS\n" + ManOptions(command) + ManFooter(command);
  if (&root == &command) {
    page += ".SH COMMANDS\n";
    for (const Command& inner : command.commands) {
      page += fmt::format(".TP\n.BR {}\\-{} (1)\n{}\n", Roff(root.path), Roff(inner.name()), Roff(inner.summary));
    }
  } else if (!command.commands.empty()) {
    page += ".SH COMMANDS\n";
    for (const Command& inner : command.commands) AddManCommand(inner, &page);
  }
  page +=
      ".SH EXIT STATUS\n0: done. 1: the check that was asked for failed. 2: wrong usage or input. 3: something that is "
      "needed is not "
      "available. 4: internal error. 130: interrupted by Ctrl\\-C; 143: ended by SIGTERM. Results so far are kept.\n";
  if (&root != &command) page += fmt::format(".SH SEE ALSO\n.BR {} (1)\n", Roff(root.path));
  return page;
}

// --- Markdown

// A '|' would end the cell.
std::string Cell(std::string_view text) {
  std::string cell;
  for (const char c : text) cell += c == '|' ? std::string("\\|") : std::string(1, c == '\n' ? ' ' : c);
  return cell;
}

void AddCommandSection(const Command& command, size_t depth, std::string* page) {
  *page += fmt::format("\n{} {}\n\n{}\n\n    {}\n", std::string(std::min<size_t>(depth, 4), '#'), command.path,
                       command.summary, Synopsis(command));
  std::vector<const CommandOption*> options;
  for (const CommandOption& option : command.options) {
    if (option.names.back() != "--help") options.push_back(&option);
  }
  if (!options.empty()) {
    *page += "\n| option | meaning | |\n| --- | --- | --- |\n";
    for (const CommandOption* option : options) {
      *page +=
          fmt::format("| `{}` | {} | {} |\n", Cell(Usage(*option, ", ")), Cell(option->help), Cell(Details(*option)));
    }
  }
  if (!command.footer.empty()) {
    *page += "\n";
    for (const std::string& line : LinesOf(command.footer)) *page += "    " + line + "\n";
  }
  for (const Command& inner : command.commands) AddCommandSection(inner, depth + 1, page);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> ManPages(const Command& root, const std::string& version) {
  std::vector<std::pair<std::string, std::string>> pages = {{root.path + ".1", ManPage(root, root, version)}};
  for (const Command& command : root.commands) {
    pages.emplace_back(fmt::format("{}-{}.1", root.path, command.name()), ManPage(root, command, version));
  }
  return pages;
}

std::string CommandReferencePage(const Command& root) {
  std::string page =
      "# Commands\n\nGenerated from the programs: `fairlead reference`. Every command prints the same with "
      "`--help`.\n\n"
      "Commands that print tables have `--format csv` for spreadsheets, `--format markdown` for tickets and wikis, "
      "and\n"
      "`--format json` or `--json FILE` for scripts: numbers without rounding, and all rows.\n";
  AddCommandSection(root, 2, &page);
  return page;
}

}  // namespace fairlead::cli
