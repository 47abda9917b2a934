#include "slurm/job_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "model/job_name.h"

namespace fairlead::slurm {
namespace {

using State = ScriptCheck::State;

struct Given {
  std::string value;  // empty: none
  uint32_t line = 0;
};

// Options by their long name, and lines that sbatch does not read although they look like it.
struct Script {
  std::map<std::string, Given> options;
  uint32_t late_line = 0;  // the first; 0: none
  uint32_t part_line = 0;  // where the second part of a heterogeneous job begins, likewise
  uint32_t trap_line = 0;  // that does something on USR1, or hands the signal to its program
};

// Short options that the contract is about, and all others that take a value: without it the next word is none.
constexpr std::array<std::pair<char, std::string_view>, 22> kShort = {
    {{'N', "nodes"},    {'n', "ntasks"},      {'a', "array"},      {'c', "cpus-per-task"}, {'p', "partition"},
     {'J', "job-name"}, {'o', "output"},      {'e', "error"},      {'t', "time"},          {'A', "account"},
     {'q', "qos"},      {'G', "gpus"},        {'w', "nodelist"},   {'x', "exclude"},       {'d', "dependency"},
     {'D', "chdir"},    {'b', "begin"},       {'C', "constraint"}, {'F', "nodefile"},      {'i', "input"},
     {'L', "licenses"}, {'m', "distribution"}}};
constexpr std::array<std::string_view, 12> kFlags = {"requeue",    "no-requeue",    "exclusive",  "hold",
                                                     "wait",       "oversubscribe", "contiguous", "overcommit",
                                                     "spread-job", "use-min-nodes", "reboot",     "parsable"};

// As a shell would, without its expansions: quotes hold words together, and # ends the line.
std::vector<std::string> Words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool is_in_word = false;
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        if (c == '\\' && quote == '"' && i + 1 < line.size()) ++i;
        word += line[i];
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      is_in_word = true;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      if (is_in_word) words.push_back(std::exchange(word, ""));
      is_in_word = false;
    } else if (c == '#' && !is_in_word) {
      break;
    } else {
      word += c;
      is_in_word = true;
    }
  }
  if (is_in_word) words.push_back(word);
  return words;
}

void TakeOptions(const std::vector<std::string>& words, uint32_t line, Script* script) {
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    std::string name;
    std::optional<std::string> value;
    if (word.starts_with("--")) {
      const size_t equals = word.find('=');
      name = word.substr(2, equals == std::string_view::npos ? equals : equals - 2);
      if (equals != std::string_view::npos) value = std::string(word.substr(equals + 1));
    } else if (word.size() >= 2 && word[0] == '-') {
      const auto found = std::ranges::find(kShort, word[1], &std::pair<char, std::string_view>::first);
      if (found == kShort.end()) continue;
      name = found->second;
      if (word.size() > 2) value = std::string(word.substr(word[2] == '=' ? 3 : 2));
    } else {
      continue;
    }
    const bool takes_next = !value.has_value() && std::ranges::find(kFlags, name) == kFlags.end() &&
                            i + 1 < words.size() && !words[i + 1].starts_with('-');
    if (takes_next) value = words[++i];
    script->options[name] = {value.value_or(""), line};
  }
}

bool HasWord(std::string_view text, std::string_view word) {
  const auto is_part = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !is_part(text[at - 1])) && (end == text.size() || !is_part(text[end]))) return true;
  }
  return false;
}

Script Read(std::string_view text) {
  Script script;
  bool has_command = false;
  for (uint32_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    constexpr std::string_view kSbatch = "#SBATCH";
    const bool is_option = line.starts_with(kSbatch) && (line.size() == kSbatch.size() || line[kSbatch.size()] == ' ' ||
                                                         line[kSbatch.size()] == '\t');
    const bool is_read = is_option && !has_command && script.part_line == 0;
    const std::vector<std::string> words = is_read ? Words(line.substr(kSbatch.size())) : std::vector<std::string>();
    if (!words.empty() && (words[0] == "hetjob" || words[0] == "packjob")) {
      script.part_line = number;
    } else {
      TakeOptions(words, number, &script);
    }
    if (is_option && has_command && script.late_line == 0) script.late_line = number;
    const size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string_view::npos || line[first] == '#') continue;
    has_command = true;
    const bool traps =
        HasWord(line, "trap") && (HasWord(line, "USR1") || HasWord(line, "SIGUSR1") || HasWord(line, "10"));
    if (script.trap_line == 0 && (traps || line.substr(first).starts_with("exec "))) script.trap_line = number;
  }
  return script;
}

std::string Shown(std::string_view text) { return model::PrintableText(text); }

// ---- The parts of the contract ----

const Given* Find(const Script& script, const char* name) {
  const auto found = script.options.find(name);
  return found == script.options.end() ? nullptr : &found->second;
}

std::optional<std::pair<uint64_t, uint64_t>> ParseRange(std::string_view text) {
  std::pair<uint64_t, uint64_t> range;
  const size_t dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto parse = [](std::string_view part, uint64_t* value) {
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), *value);
    return error == std::errc() && end == part.data() + part.size();
  };
  if (!parse(text.substr(0, dash), &range.first) || !parse(text.substr(dash + 1), &range.second)) return std::nullopt;
  return range;
}

ScriptCheck CheckNodes(const Script& script) {
  const Given* nodes = Find(script, "nodes");
  ScriptCheck check = {.name = "nodes", .line = nodes == nullptr ? 0 : nodes->line, .found = "", .helps = ""};
  const auto range = nodes == nullptr ? std::nullopt : ParseRange(nodes->value);
  if (range.has_value() && range->first >= 1 && range->first < range->second) {
    check.found = fmt::format("{} to {}", range->first, range->second);
    return check;
  }
  check.state = State::kBroken;
  check.found = nodes == nullptr ? "no number of nodes" : fmt::format("no range: '{}'", Shown(nodes->value));
  check.helps = "#SBATCH --nodes=2-8";
  return check;
}

ScriptCheck CheckTasks(const Script& script) {
  const Given* tasks = Find(script, "ntasks");
  const Given* per_node = Find(script, "ntasks-per-node");
  ScriptCheck check = {.name = "tasks", .line = 0, .found = "", .helps = ""};
  if (tasks != nullptr) {
    check = {.name = "tasks",
             .state = State::kBroken,
             .line = tasks->line,
             .found = "a number of all tasks (-n) stays when the size changes",
             .helps = "take -n out; #SBATCH --ntasks-per-node=4"};
    return check;
  }
  uint32_t count = 0;
  const bool is_number =
      per_node != nullptr &&
      std::from_chars(per_node->value.data(), per_node->value.data() + per_node->value.size(), count).ptr ==
          per_node->value.data() + per_node->value.size() &&
      count > 0;
  if (per_node != nullptr) check.line = per_node->line;
  if (is_number) {
    check.found = fmt::format("{} on each node", count);
    return check;
  }
  check.state = State::kBroken;
  check.found =
      per_node == nullptr ? "not said how many a node has" : fmt::format("no number: '{}'", Shown(per_node->value));
  check.helps = "#SBATCH --ntasks-per-node=4";
  return check;
}

ScriptCheck CheckRequeue(const Script& script) {
  if (const Given* array = Find(script, "array"); array != nullptr) {
    return {.name = "requeue",
            .state = State::kBroken,
            .line = array->line,
            .found = "an array is not restarted as one job",
            .helps = "take --array out"};
  }
  if (script.part_line != 0) {
    return {.name = "requeue",
            .state = State::kBroken,
            .line = script.part_line,
            .found = "a heterogeneous job is not restarted as one job",
            .helps = "take hetjob, and the options behind it, out"};
  }
  if (const Given* never = Find(script, "no-requeue"); never != nullptr) {
    return {.name = "requeue",
            .state = State::kBroken,
            .line = never->line,
            .found = "--no-requeue",
            .helps = "#SBATCH --requeue"};
  }
  const Given* requeue = Find(script, "requeue");
  return {.name = "requeue",
          .line = requeue == nullptr ? 0 : requeue->line,
          .found = requeue == nullptr ? "set when it is submitted" : "--requeue",
          .helps = ""};
}

// Fairlead names its nodes, and starts it at once.
ScriptCheck CheckWishes(const Script& script) {
  constexpr std::string_view kExclusive = "exclusive";
  for (const char* const option :
       {"nodelist", "nodefile", "exclude", "constraint", "reservation", "dependency", "licenses", "begin", "contiguous",
        "switches", "spread-job", "gpus-per-socket", "oversubscribe", "exclusive"}) {
    const Given* wish = Find(script, option);
    // Hosts of its own are what an elastic job gets.
    if (wish == nullptr || (option == kExclusive && wish->value.empty())) continue;
    return {.name = "start",
            .state = State::kBroken,
            .line = wish->line,
            .found = fmt::format("--{}{}{} says where, when or beside whom it may start", option,
                                 option == kExclusive ? "=" : "", option == kExclusive ? Shown(wish->value) : ""),
            .helps = fmt::format("take --{} out", option)};
  }
  return {.name = "start", .line = 0, .found = "anywhere, at any time", .helps = ""};
}

ScriptCheck CheckComment(const Script& script) {
  const Given* comment = Find(script, "comment");
  ScriptCheck check = {.name = "opt-in",
                       .line = comment == nullptr ? 0 : comment->line,
                       .found = "its comment says fairlead",
                       .helps = ""};
  if (comment != nullptr && HasWord(comment->value, "fairlead")) return check;
  check.state = State::kBroken;
  check.found = comment == nullptr ? "no comment, so the job is Slurm's"
                                   : "its comment does not say fairlead, so the job is Slurm's";
  check.helps = "#SBATCH --comment=fairlead";
  return check;
}

ScriptCheck CheckOutput(const Script& script) {
  const Given* mode = Find(script, "open-mode");
  ScriptCheck check = {
      .name = "output", .line = mode == nullptr ? 0 : mode->line, .found = "is appended to", .helps = ""};
  if (mode != nullptr && mode->value == "append") return check;
  check.state = State::kBroken;
  check.found = mode == nullptr ? "each start may empty the file" : fmt::format("--open-mode={}", Shown(mode->value));
  check.helps = "#SBATCH --open-mode=append";
  return check;
}

ScriptCheck CheckSignal(const Script& script) {
  const Given* signal = Find(script, "signal");
  ScriptCheck check = {.name = "signal",
                       .line = signal == nullptr ? 0 : signal->line,
                       .found = "SIGUSR1 comes before the end",
                       .helps = ""};
  const std::string value = signal == nullptr ? "" : signal->value;
  const std::string_view what = std::string_view(value).substr(0, value.find('@'));
  const size_t colon = what.find(':');
  std::string_view name = colon == std::string_view::npos ? what : what.substr(colon + 1);
  if (name.starts_with("SIG")) name.remove_prefix(3);
  if (name == "USR1" || name == "10") return check;
  check.state = State::kBetter;
  check.found = signal == nullptr
                    ? "no SIGUSR1 before the time limit: what is done since the last checkpoint is lost there"
                    : fmt::format("--signal={}", Shown(value));
  check.helps = "#SBATCH --signal=B:USR1@60";
  return check;
}

ScriptCheck CheckTrap(const Script& script) {
  if (script.trap_line != 0) {
    return {.name = "checkpoint", .line = script.trap_line, .found = "SIGUSR1 reaches something", .helps = ""};
  }
  return {.name = "checkpoint",
          .state = State::kBroken,
          .line = 0,
          .found = "the shell of the script would die of SIGUSR1",
          .helps = "trap 'scancel --signal=USR1 $SLURM_JOB_ID' USR1; srun train & wait; wait    (or: exec train)"};
}

ScriptCheck CheckOrder(const Script& script) {
  if (script.late_line == 0) return {.name = "order", .found = "all options are read", .helps = ""};
  return {.name = "order",
          .state = State::kBroken,
          .line = script.late_line,
          .found = "options behind the first command are not read",
          .helps = "move the #SBATCH lines up"};
}

}  // namespace

std::string_view Name(ScriptCheck::State state) {
  static constexpr std::array<std::string_view, 3> kNames = {"kept", "broken", "better"};
  return kNames.at(static_cast<size_t>(state));
}

Result<std::vector<ScriptCheck>> CheckJobScript(std::string_view script) {
  if (!script.starts_with("#!")) return InvalidArgument("no script: expected #! at its beginning, as sbatch does");
  if (script.find('\0') != std::string_view::npos) return InvalidArgument("no script: it has a zero byte");
  const Script read = Read(script);
  return std::vector<ScriptCheck>{CheckComment(read), CheckNodes(read),  CheckTasks(read),
                                  CheckRequeue(read), CheckWishes(read), CheckOutput(read),
                                  CheckSignal(read),  CheckTrap(read),   CheckOrder(read)};
}

bool IsContractKept(const std::vector<ScriptCheck>& checks) {
  return std::ranges::none_of(checks, [](const ScriptCheck& check) { return check.state == State::kBroken; });
}

}  // namespace fairlead::slurm
