#include "telemetry/ras_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "telemetry/input_text.h"
#include "telemetry/operation_names.h"

namespace fairlead::telemetry {
namespace {

using model::OperationKind;

constexpr size_t kRasLineBytesMax = size_t{1} << 16;
constexpr size_t kHeadBytes = size_t{1} << 16;
// Of all communicators that are told about.
constexpr uint64_t kNumMembersMax = 4 * kNumImportedRanksMax;

// Reads a line from its beginning.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) { Skip(); }

  bool Take(std::string_view words) {
    if (!text_.starts_with(words)) return false;
    text_.remove_prefix(words.size());
    Skip();
    return true;
  }
  std::optional<uint64_t> TakeNumber() {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), number);
    if (error != std::errc()) return std::nullopt;
    text_.remove_prefix(static_cast<size_t>(end - text_.data()));
    Skip();
    return number;
  }
  // Up to `end`, which is dropped; nothing, if it does not come.
  std::optional<std::string> TakeUntil(std::string_view end) {
    const size_t at = text_.find(end);
    if (at == std::string_view::npos) return std::nullopt;
    std::string taken(text_.substr(0, at));
    text_.remove_prefix(at + end.size());
    Skip();
    return taken;
  }
  std::string_view rest() const { return text_; }

 private:
  void Skip() { text_.remove_prefix(std::min(text_.find_first_not_of(' '), text_.size())); }

  std::string_view text_;
};

// What is said of ranks, one by one or counted.
struct Statement {
  enum class Kind { kNothing, kCount, kStatus, kError } kind = Kind::kNothing;
  uint64_t count = 0;
  std::string text;  // of a status or an error
};

std::optional<Statement> TakeStatement(Words& words) {
  if (words.Take("have launched up to operation") || words.Take("has launched up to operation")) {
    const auto count = words.TakeNumber();
    if (!count.has_value()) return std::nullopt;
    return Statement{.kind = Statement::Kind::kCount, .count = *count, .text = {}};
  }
  if (words.Take("have not launched any operations") || words.Take("has not launched any operations")) {
    return Statement{.kind = Statement::Kind::kCount, .count = 0, .text = {}};
  }
  const bool is_status = words.Take("have status") || words.Take("has status");
  if (!is_status && !words.Take("reported")) return std::nullopt;
  const std::string_view rest = words.rest();
  const std::string text(rest.substr(0, std::min(rest.find(" -- "), rest.size())));
  words.Take(text);
  return Statement{.kind = is_status ? Statement::Kind::kStatus : Statement::Kind::kError, .count = 0, .text = text};
}

// "process 13426 on node 127.0.0.1", and what comes before.
std::optional<RankProcess> TakeProcess(Words& words) {
  if (!words.Take("GPU")) return std::nullopt;
  const auto gpu = words.TakeNumber();
  if (!gpu.has_value() || !words.TakeUntil("managed by process ").has_value()) return std::nullopt;
  const auto pid = words.TakeNumber();
  if (!pid.has_value() || !words.Take("on node") || words.rest().empty()) return std::nullopt;
  return RankProcess{std::string(words.rest()), *pid, static_cast<int64_t>(*gpu)};
}

// ncclResult_t.
int32_t ErrorNumber(std::string_view text) {
  constexpr std::string_view kNames[] = {"Unhandled CUDA error", "System error",  "Internal error",
                                         "Invalid argument",     "Invalid usage", "Remote process error"};
  const auto* const found = std::ranges::find(kNames, text);
  return found == std::end(kNames) ? -1 : static_cast<int32_t>(found - std::begin(kNames)) + 1;
}

// Size        a parser's place in the text, and the tables that it fills.
class TextReader {
 public:
  TextReader(std::istream& text, const std::string& name) : lines_(text, name, kRasLineBytesMax), name_(name) {}

  Result<RasSnapshot> Read() {
    while (lines_.Next()) FL_RETURN_IF_ERROR(ReadLine(lines_.text()));
    FL_RETURN_IF_ERROR(lines_.status());
    if (!has_warnings_) {
      return InvalidArgument(
          fmt::format("{}: the answer of NCCL RAS ends before its \"Warnings\"; is it all there?", name_));
    }
    snapshot_.file = name_;
    for (const auto& [key, communicator] : communicators_) Complete(communicator);
    if (communicators_.empty() && !group_sizes_.empty()) {
      // All is well, as far as the text says: a job of that size.
      const RasCommunicator all = {
          .name = "the largest communicator", .size = group_sizes_.begin()->second, .ranks = {}};
      Complete({.result = all, .ranks = {}, .counted = {}});
      snapshot_.notes.emplace_back(
          "The text of NCCL RAS has counts only of ranks that differ. Where all have begun the same it can't tell a "
          "job that is stuck from one that moves.");
    }
    return std::move(snapshot_);
  }

 private:
  // Ranks that are counted by what they have launched, and not all named.
  struct Counted {
    uint64_t count = 0;
    uint64_t ranks = 0;
    uint64_t named = 0;
  };
  struct Communicator {
    RasCommunicator result;
    std::map<uint64_t, RasRank> ranks;  // that are named
    std::map<OperationKind, std::vector<Counted>> counted;
  };
  enum class Section { kHead, kTable, kErrors, kWarnings };
  // Which processes are listed.
  enum class Listed { kNone, kSilent, kDead };

  Status ReadLine(const std::string& line) {
    if (line == "Errors") return Begin(Section::kErrors);
    if (line == "Warnings") return Begin(Section::kWarnings);
    if (line.starts_with("Group ")) return Begin(Section::kTable);
    if (section_ == Section::kTable) return ReadGroup(line);
    if (section_ == Section::kHead) return OkStatus();
    if (line.starts_with('#')) return ReadCommunicator(line);
    if (line == "INCOMPLETE" || line == "DEAD") {
      listed_ = line == "DEAD" ? Listed::kDead : Listed::kSilent;
      current_ = nullptr;
      return OkStatus();
    }
    Words words(line);
    if (words.Take("Process")) return ReadProcess(words);
    if (current_ != nullptr) ReadStatement(words);
    return OkStatus();
  }

  Status Begin(Section section) {
    section_ = section;
    has_warnings_ |= section == Section::kWarnings;
    current_ = nullptr;
    listed_ = Listed::kNone;
    return OkStatus();
  }

  // "    0         1         1         8         8         8   RUNNING  MISMATCH"
  Status ReadGroup(const std::string& line) {
    Words words(line);
    const auto group = words.TakeNumber();
    if (!group.has_value()) return OkStatus();  // more of the heading
    const bool has_comms = words.TakeNumber().has_value() && words.TakeNumber().has_value();
    const auto ranks_per_node = words.TakeUntil(" ");  // may be "7-8"
    const auto size = words.TakeNumber();
    if (!has_comms || !ranks_per_node.has_value() || !size.has_value() || *size > kNumImportedRanksMax) {
      return InvalidArgument(fmt::format("{}: expected a row of NCCL RAS' table of communicators", lines_.Where()));
    }
    group_sizes_[*group] = *size;
    return OkStatus();
  }

  // "#0-0 (34a704fd70ae67b0) MISMATCH"
  Status ReadCommunicator(const std::string& line) {
    Words words(line);
    words.Take("#");
    const auto group = words.TakeNumber();
    const auto number = words.TakeUntil("(");
    const auto hash = words.TakeUntil(")");
    const auto size = group_sizes_.find(group.value_or(UINT64_MAX));
    if (!number.has_value() || !hash.has_value() || size == group_sizes_.end()) {
      return InvalidArgument(
          fmt::format("{}: expected a communicator of NCCL RAS' table, such as '#0-0 (34a704fd70ae67b0) MISMATCH'",
                      lines_.Where()));
    }
    const auto [entry, is_new] = communicators_.try_emplace(*hash);
    if (is_new) {
      num_members_ += size->second;
      if (num_members_ > kNumMembersMax) {
        return InvalidArgument(fmt::format("{}: tells of more ranks than {}", lines_.Where(), kNumMembersMax));
      }
      entry->second.result = {.name = *hash, .size = size->second, .ranks = {}};
    }
    current_ = &entry->second;
    kind_ = OperationKind::kUnknown;
    is_incomplete_ = words.rest() == "INCOMPLETE";
    statement_ = {};
    return OkStatus();
  }

  // "Process 13429 on node 127.0.0.1 managing GPU 6"
  Status ReadProcess(Words& words) {
    const auto pid = words.TakeNumber();
    if (!pid.has_value() || !words.Take("on node")) return OkStatus();
    const auto host = words.TakeUntil(" managing GPU");
    if (host.has_value() && listed_ != Listed::kNone) {
      (listed_ == Listed::kDead ? dead_ : silent_).insert({*host, *pid});
    }
    return OkStatus();
  }

  void ReadStatement(Words& words) {
    if (words.Take("Communicator ranks have different")) {
      const std::string name = words.TakeUntil(" operation counts").value_or("");
      // NCCL 2.24 counts all collectives together.
      kind_ = NcclOperationKind(name);
      is_counted_ = kind_ != OperationKind::kUnknown || name == "collective";
      statement_ = {};
      return;
    }
    if (words.Take("Rank")) return ReadRank(words);
    const auto ranks = words.TakeNumber();
    if (!ranks.has_value() || !words.Take("ranks")) return;
    const auto statement = TakeStatement(words);
    statement_ = statement.value_or(Statement{});
    if (statement_.kind == Statement::Kind::kCount && is_counted_) {
      current_->counted[kind_].push_back({.count = statement_.count, .ranks = *ranks, .named = 0});
    }
  }

  void ReadRank(Words& words) {
    const auto number = words.TakeNumber();
    if (!number.has_value() || *number >= current_->result.size) return;
    RasRank& rank = current_->ranks[*number];
    rank.rank = *number;
    const std::optional<Statement> own = TakeStatement(words);
    const Statement& statement = own.has_value() ? *own : statement_;
    if (statement.kind == Statement::Kind::kCount && is_counted_) {
      rank.counts[kind_] = statement.count;
      if (!own.has_value() && !current_->counted[kind_].empty()) ++current_->counted[kind_].back().named;
    }
    rank.is_finalizing |= statement.kind == Statement::Kind::kStatus && statement.text == "FINALIZE";
    rank.is_aborted |= statement.kind == Statement::Kind::kStatus && statement.text == "ABORT";
    rank.is_missing |= statement.kind == Statement::Kind::kStatus && statement.text == "NOCOMM";
    if (statement.kind == Statement::Kind::kError) rank.error = ErrorNumber(statement.text);
    if (words.Take("--")) {
      const std::optional<RankProcess> process = TakeProcess(words);
      rank.is_process_known |= process.has_value();
      if (process.has_value()) rank.process = *process;
    }
    if (!is_incomplete_) return;
    rank.is_missing = true;
    const std::pair<std::string, uint64_t> of = {rank.process.host, rank.process.pid};
    rank.is_dead = rank.is_process_known && dead_.contains(of);
    rank.is_unresponsive = !rank.is_dead && (!rank.is_process_known || silent_.contains(of));
  }

  // Those that are not named are alike.
  void Complete(const Communicator& from) {
    RasCommunicator& to = snapshot_.communicators.emplace_back(from.result);
    std::map<OperationKind, uint64_t> common;
    std::set<OperationKind> unclear;
    for (const auto& [kind, groups] : from.counted) {
      std::vector<uint64_t> unnamed;
      for (const Counted& group : groups) {
        if (group.named < group.ranks) unnamed.push_back(group.count);
      }
      if (unnamed.size() == 1) common[kind] = unnamed.front();
      if (unnamed.size() > 1) unclear.insert(kind);
    }
    for (uint64_t r = 0; r < to.size; ++r) {
      const auto named = from.ranks.find(r);
      RasRank rank = named == from.ranks.end() ? RasRank{} : named->second;
      rank.rank = r;
      if (!rank.is_missing) rank.counts.insert(common.begin(), common.end());
      for (const OperationKind kind : unclear) rank.counts.erase(kind);
      to.ranks.push_back(std::move(rank));
    }
    if (!unclear.empty()) {
      snapshot_.notes.push_back(
          fmt::format("{}: ranks of communicator {} are apart, but NCCL RAS does not name them; ask with `ncclras -v`.",
                      name_, to.name));
    }
  }

  LineReader lines_;
  std::string name_;
  RasSnapshot snapshot_;
  Section section_ = Section::kHead;
  bool has_warnings_ = false;
  std::map<uint64_t, uint64_t> group_sizes_;           // ranks of a communicator of the group
  std::map<std::string, Communicator> communicators_;  // by hash
  uint64_t num_members_ = 0;
  Listed listed_ = Listed::kNone;
  std::set<std::pair<std::string, uint64_t>> dead_;  // host and process
  std::set<std::pair<std::string, uint64_t>> silent_;
  // What lines are about.
  Communicator* current_ = nullptr;
  bool is_incomplete_ = false;
  bool is_counted_ = false;
  OperationKind kind_ = OperationKind::kUnknown;
  Statement statement_;
};

}  // namespace

bool IsRasText(std::string_view head) {
  head = head.substr(0, kHeadBytes);
  constexpr std::string_view kVersion = "NCCL version ";
  // Behind answers such as "OK" of a server that was asked by hand.
  const size_t at = head.find(kVersion);
  return at != std::string_view::npos && (at == 0 || head[at - 1] == '\n') && head.find('{') > at &&
         head.find("Job summary", at) != std::string_view::npos;
}

Result<RasSnapshot> ParseRasText(const std::string& text, const std::string& name) {
  std::istringstream stream(text);
  return TextReader(stream, name).Read();
}

}  // namespace fairlead::telemetry
