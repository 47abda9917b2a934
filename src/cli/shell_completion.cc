#include "cli/shell_completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "base/yaml_keys.h"

namespace fairlead::cli {

namespace {

void ForEach(const Command& command, const std::function<void(const Command&)>& visit) {
  visit(command);
  for (const Command& inner : command.commands) ForEach(inner, visit);
}

// "fairlead sim" and so on: all but the root.
std::vector<std::string> PathsBelow(const Command& root) {
  std::vector<std::string> paths;
  ForEach(root, [&](const Command& command) {
    if (&command != &root) paths.push_back(command.path);
  });
  return paths;
}

// Programs whose only command is at the root.
std::vector<std::string> ProgramNames(const Command& root) {
  std::vector<std::string> names;
  for (const Command& command : root.commands) names.push_back(fmt::format("{}-{}", root.path, command.name()));
  return names;
}

std::vector<std::string> OptionNames(const Command& command) {
  std::vector<std::string> names;
  for (const CommandOption& option : command.options) {
    if (!option.is_positional) names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

std::vector<std::string> CommandNames(const Command& command) {
  std::vector<std::string> names;
  for (const Command& inner : command.commands) names.emplace_back(inner.name());
  return names;
}

std::vector<std::string> PositionalChoices(const Command& command) {
  for (const CommandOption& option : command.options) {
    if (option.is_positional) return option.value.choices;
  }
  return {};
}

std::string FirstSentence(std::string_view text) {
  const size_t end = text.find_first_of(".;:\n");
  return std::string(text.substr(0, end));
}

// Within single quotes of every shell here.
std::string Quoted(std::string_view text) {
  std::string quoted;
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return "'" + quoted + "'";
}

std::string Alternatives(const std::vector<std::string>& args) {
  std::vector<std::string> quoted;
  for (const std::string& word : args) quoted.push_back(fmt::format("\"{}\"", word));
  return fmt::format("{}", fmt::join(quoted, " | "));
}

// One line of a `case` over "COMMAND|OPTION".
std::string ChoiceCases(const Command& root,
                        const std::function<std::string(const std::vector<std::string>&)>& action) {
  std::string cases;
  ForEach(root, [&](const Command& command) {
    for (const CommandOption& option : command.options) {
      if (option.is_positional || option.value.choices.empty()) continue;
      std::vector<std::string> labels;
      for (const std::string& name : option.names) labels.push_back(fmt::format("{}|{}", command.path, name));
      cases += fmt::format("    {}) {} ;;\n", Alternatives(labels), action(option.value.choices));
    }
  });
  return cases;
}

// Options that take any text: a file is the best guess.
std::string FreeCases(const Command& root, std::string_view action) {
  std::string cases;
  ForEach(root, [&](const Command& command) {
    std::vector<std::string> labels;
    for (const CommandOption& option : command.options) {
      if (option.is_positional || option.value.type.empty() || !option.value.choices.empty()) continue;
      for (const std::string& name : option.names) labels.push_back(fmt::format("{}|{}", command.path, name));
    }
    if (!labels.empty()) cases += fmt::format("    {}) {} ;;\n", Alternatives(labels), action);
  });
  return cases;
}

}  // namespace

std::string BashCompletion(const Command& root) {
  std::string args;
  ForEach(root, [&](const Command& command) {
    args +=
        fmt::format("    \"{}\") options=\"{}\" words=\"{}\" ;;\n", command.path, fmt::join(OptionNames(command), " "),
                    fmt::join(command.commands.empty() ? PositionalChoices(command) : CommandNames(command), " "));
  });
  const auto choose = [](const std::vector<std::string>& choices) {
    return fmt::format("choices=\"{}\"", fmt::join(choices, " "));
  };
  return fmt::format(
      R"(# Completion of {0} for bash: made by `{0} completion bash`.
_{0}() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}}
  local program=${{COMP_WORDS[0]##*/}} path={0} options= words= choices= files= i
  [[ $program == {0}-* ]] && path="{0} ${{program#{0}-}}"
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path ${{COMP_WORDS[i]}}" in
    {1}) path="$path ${{COMP_WORDS[i]}}" ;;
    esac
  done
  # "--option=value" comes as three words.
  if [[ $cur == "=" ]]; then
    cur=
  elif [[ $prev == "=" ]]; then
    prev=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  case "$path|$prev" in
{2}{3}  esac
  COMPREPLY=()
  if [[ $choices ]]; then
    local before=
    [[ $cur == *,* ]] && before=${{cur%,*}},
    mapfile -t COMPREPLY < <(compgen -P "$before" -W "$choices" -- "${{cur##*,}}")
    return
  fi
  if [[ ! $files ]]; then
    case "$path" in
{4}    esac
    [[ $cur == -* ]] && words=$options
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
    [[ $words ]] && return
  fi
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$cur")
}}
complete -F _{0} {0} {5}
)",
      root.path, Alternatives(PathsBelow(root)), ChoiceCases(root, choose), FreeCases(root, "files=yes"), args,
      fmt::join(ProgramNames(root), " "));
}

std::string ZshCompletion(const Command& root) {
  std::string args;
  ForEach(root, [&](const Command& command) {
    std::vector<std::string> commands;
    for (const Command& inner : command.commands) {
      commands.push_back(Quoted(fmt::format("{}:{}", inner.name(), FirstSentence(inner.summary))));
    }
    if (command.commands.empty()) {
      for (const std::string& choice : PositionalChoices(command)) commands.push_back(Quoted(choice));
    }
    std::vector<std::string> options;
    for (const CommandOption& option : command.options) {
      if (option.is_positional) continue;
      for (const std::string& name : option.names) {
        options.push_back(Quoted(fmt::format("{}:{}", name, FirstSentence(option.help))));
      }
    }
    args += fmt::format("    \"{}\") options=({}) commands=({}) ;;\n", command.path, fmt::join(options, " "),
                        fmt::join(commands, " "));
  });
  const auto choose = [](const std::vector<std::string>& choices) {
    return fmt::format("compset -P '*,'; compadd -- {}; return", fmt::join(choices, " "));
  };
  return fmt::format(
      R"(#compdef {0} {5}
# Completion of {0} for zsh: made by `{0} completion zsh`.
_{0}() {{
  local program=${{words[1]:t}} at={0} i
  local -a options commands
  [[ $program == {0}-* ]] && at="{0} ${{program#{0}-}}"
  for ((i = 2; i < CURRENT; i++)); do
    case "$at ${{words[i]}}" in
    {1}) at="$at ${{words[i]}}" ;;
    esac
  done
  case "$at|${{words[CURRENT - 1]}}" in
{2}{3}  esac
  case "$at" in
{4}  esac
  if [[ ${{words[CURRENT]}} == -* ]]; then
    _describe -o option options
  elif (( ${{#commands}} )); then
    _describe command commands
  else
    _files
  fi
}}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _{0} "$@"
else
  compdef _{0} {0} {5}
fi
)",
      root.path, Alternatives(PathsBelow(root)), ChoiceCases(root, choose), FreeCases(root, "_files; return"), args,
      fmt::join(ProgramNames(root), " "));
}

std::string FishCompletion(const Command& root) {
  std::string script = fmt::format(
      R"(# Completion of {0} for fish: made by `{0} completion fish`.
# Whether the command on the line is the given one.
function __{0}_at
    set -l words (commandline -opc)
    set -l program (string replace -r '.*/' '' -- $words[1])
    set -l at (string replace -- '{0}-' '{0} ' $program)
    for word in $words[2..-1]
        switch "$at $word"
            case {1}
                set at "$at $word"
        end
    end
    test "$at" = "$argv"
end
)",
      root.path, [&] {
        std::vector<std::string> quoted;
        for (const std::string& path : PathsBelow(root)) quoted.push_back(Quoted(path));
        return fmt::format("{}", fmt::join(quoted, " "));
      }());
  ForEach(root, [&](const Command& command) {
    std::string programs = "-c " + root.path;
    // "fairlead lab up" is also a command of fairlead-lab.
    if (&command != &root) {
      programs += fmt::format(" -c {}-{}", root.path, SplitAtSpaces(command.path)[1]);
    }
    const std::string at = fmt::format("complete {} -n '__{}_at {}'", programs, root.path, command.path);
    for (const Command& inner : command.commands) {
      script += fmt::format("{} -f -a {} -d {}\n", at, inner.name(), Quoted(FirstSentence(inner.summary)));
    }
    if (command.commands.empty()) {
      const auto choices = PositionalChoices(command);
      if (!choices.empty()) script += fmt::format("{} -f -a '{}'\n", at, fmt::join(choices, " "));
    }
    for (const CommandOption& option : command.options) {
      if (option.is_positional) continue;
      std::string line = at;
      for (const std::string& name : option.names) {
        line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (!option.value.choices.empty()) {
        line += fmt::format(" -x -a '{}'", fmt::join(option.value.choices, " "));
      } else if (!option.value.type.empty()) {
        line += " -r";
      }
      script += fmt::format("{} -d {}\n", line, Quoted(FirstSentence(option.help)));
    }
  });
  return script;
}

}  // namespace fairlead::cli
