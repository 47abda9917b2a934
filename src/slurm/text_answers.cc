#include "slurm/text_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <system_error>

#include "model/job_name.h"
#include "slurm/host_list.h"
#include "slurm/state_names.h"

namespace fairlead::slurm {

const char kJobFields[] =
    "JobID:|,ArrayTaskID:|,HetJobID:|,UserID:|,State:|,RestartCnt:|,PriorityLong:|,Requeue:|,NumNodes:|,MaxNodes:|,"
    "NumCPUs:|,NumTasks:|,NTPerNode:|,cpus-per-task:|,Nice:|,TimeUsed:|,Partition:|,Dependency:|,NodeList:|,"
    "Reason:64,admin_comment:.64,admin_comment:64";

namespace {

// As in kJobFields: those that end with a '|'.
enum JobField : uint8_t {
  kId,
  kArrayTask,
  kHetJob,
  kUser,
  kState,
  kRestarts,
  kPriority,
  kRequeue,
  kNodes,
  kNodesMax,
  kCpus,
  kTasks,
  kTasksPerNode,
  kCpusPerTask,
  kNice,
  kTimeUsed,
  kPartition,
  kDependency,
  kHosts,
  kNumFields
};
// Of each of the others, in bytes, whatever these are. A mark of ours is shorter.
constexpr size_t kWidth = 64;
// "no value" of 16 and of 32 bits, and "infinite".
constexpr uint64_t kNoValue16 = 65534;
constexpr uint64_t kNoValue32 = 4'294'967'294;

Status LineFault(size_t line, std::string_view expected, std::string_view found) {
  return InvalidArgument(
      fmt::format("Slurm's answer, line {}: expected {}, found '{}'", line, expected, model::PrintableText(found)));
}

// Calls take(number, line) for each line with content, until one fails.
template <class Take>
Status ForEachLine(std::string_view text, const Take& take) {
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.find_first_not_of(' ') != std::string_view::npos) FL_RETURN_IF_ERROR(take(number, line));
  }
  return OkStatus();
}

template <class Integer>
std::optional<Integer> Parse(std::string_view text) {
  Integer number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// "12", or the first number of "2-8".
std::optional<uint64_t> ParseCount(std::string_view text) { return Parse<uint64_t>(text.substr(0, text.find('-'))); }

// "5-02:03:04", "2:03:04", "3:04"; nothing: Slurm does not know.
std::optional<SimDuration> ParseTimeUsed(std::string_view text) {
  int64_t days = 0;
  if (const size_t dash = text.find('-'); dash != std::string_view::npos) {
    days = Parse<uint32_t>(text.substr(0, dash)).value_or(0);
    text.remove_prefix(dash + 1);
  }
  int64_t seconds = 0;
  for (;;) {
    const size_t end = std::min(text.find(':'), text.size());
    const auto part = Parse<uint32_t>(text.substr(0, end));
    if (!part.has_value() || seconds > UINT32_MAX) return std::nullopt;
    seconds = seconds * 60 + *part;
    if (end == text.size()) break;
    text.remove_prefix(end + 1);
  }
  constexpr int64_t kSecondsOfDay = 86'400;
  constexpr int64_t kSecondsMax = 4'000'000'000;
  if (seconds > kSecondsMax || days > kSecondsMax / kSecondsOfDay) return std::nullopt;
  return SimDuration((days * kSecondsOfDay + seconds) * 1'000'000'000);
}

std::string_view WithoutBlanksBehind(std::string_view text) { return text.substr(0, text.find_last_not_of(' ') + 1); }

// A text of which squeue has printed the first kWidth bytes, with blanks before it or behind it where it is shorter:
// the two together tell which blanks are its own. A longer one is cut off, and says so.
std::string TextOfColumns(std::string_view on_the_right, std::string_view on_the_left) {
  const size_t own_before = std::min(on_the_left.find_first_not_of(' '), kWidth);
  const size_t all_before = std::min(on_the_right.find_first_not_of(' '), kWidth);
  if (own_before == kWidth) return "";  // nothing but blanks, how many can't be told
  const size_t size = kWidth - (all_before - std::min(own_before, all_before));
  return std::string(on_the_left.substr(0, size)) + (size == kWidth ? "..." : "");
}

// What one job has in an answer.
struct JobText {
  std::array<std::string_view, kNumFields> fields;
  std::string_view reason;
  std::string admin_comment;
};

// Takes the job that the text begins with off it. Errors: what was expected.
Result<JobText> TakeJobText(size_t number, std::string_view* text) {
  const std::string_view line = text->substr(0, text->find('\n'));
  JobText job;
  for (std::string_view& field : job.fields) {
    const size_t end = text->find_first_of("|\n");
    if (end == std::string_view::npos || (*text)[end] != '|') {
      return LineFault(number, fmt::format("{} fields", int{kNumFields}), line);
    }
    field = text->substr(0, end);
    text->remove_prefix(end + 1);
  }
  const bool is_whole = text->size() > 3 * kWidth ? (*text)[3 * kWidth] == '\n' : text->size() == 3 * kWidth;
  if (!is_whole) return LineFault(number, fmt::format("reason and comment of {} bytes", 3 * kWidth), line);
  job.reason = WithoutBlanksBehind(text->substr(0, kWidth));
  job.admin_comment = TextOfColumns(text->substr(kWidth, kWidth), text->substr(2 * kWidth, kWidth));
  text->remove_prefix(std::min(text->size(), 3 * kWidth + 1));
  return job;
}

Result<Job> ReadJobText(size_t number, const JobText& text) {
  const auto& fields = text.fields;
  Job job;
  struct Count {
    JobField field;
    uint32_t* value;
    uint32_t otherwise;  // where Slurm says that there is none; `kMust`: it may not
  };
  constexpr uint32_t kMust = UINT32_MAX;
  for (const Count& count : std::to_array<Count>({{kId, &job.id, kMust},
                                                  {kUser, &job.owner, kMust},
                                                  {kRestarts, &job.num_restarts, 0},
                                                  {kNodes, &job.num_nodes, kMust},
                                                  {kNodesMax, &job.num_nodes_max, 0},
                                                  {kCpus, &job.num_cpus, 0},
                                                  {kTasks, &job.num_tasks, 0},
                                                  {kTasksPerNode, &job.tasks_per_node, 0},
                                                  {kCpusPerTask, &job.cpus_per_task, 1}})) {
    const auto value = ParseCount(fields[count.field]);
    const bool is_none =
        fields[count.field] == "N/A" || fields[count.field] == "(null)" ||
        (value.has_value() &&
         (*value >= kNoValue32 || (count.field != kUser && *value == kNoValue16 && count.otherwise != kMust)));
    if (!is_none && !value.has_value()) return LineFault(number, "a number", fields[count.field]);
    if (is_none && count.otherwise == kMust) return LineFault(number, "a number", fields[count.field]);
    *count.value = is_none ? count.otherwise : static_cast<uint32_t>(*value);
  }
  job.is_single = fields[kArrayTask] == "N/A" && fields[kHetJob] == "N/A";
  job.num_nodes_max = std::max(job.num_nodes_max, job.num_nodes);
  job.cpus_per_task = std::max(job.cpus_per_task, 1u);
  job.state = JobStateOf(std::to_array({fields[kState]}));
  job.is_held = job.state == JobState::kPending && fields[kPriority] == "0";
  job.may_requeue = fields[kRequeue] == "1";
  job.nice = Parse<int32_t>(fields[kNice]).value_or(0);
  if (job.state == JobState::kRunning) job.run_time = ParseTimeUsed(fields[kTimeUsed]);
  job.partition = fields[kPartition];
  const bool depends = !fields[kDependency].empty() && fields[kDependency] != "(null)";
  job.has_dependency = depends && job.state == JobState::kPending;
  job.reason = text.reason == "None" ? std::string_view() : text.reason;
  job.admin_comment = text.admin_comment == "(null)" ? std::string() : text.admin_comment;
  if (job.state == JobState::kEnded) job.end = fields[kState];
  FL_ASSIGN_OR_RETURN(job.hosts, ExpandHosts(fields[kHosts]));
  return job;
}

// Of "Key=value Key=value": what follows " Key=", up to a blank; empty: there is none. `line` begins with a key, too.
std::string_view ValueOf(std::string_view line, std::string_view key) {
  for (size_t at = line.find(key); at != std::string_view::npos; at = line.find(key, at + 1)) {
    const size_t end = at + key.size();
    if ((at != 0 && line[at - 1] != ' ') || end >= line.size() || line[end] != '=') continue;
    const std::string_view value = line.substr(end + 1, line.find(' ', end) - end - 1);
    return value == "(null)" ? std::string_view() : value;
  }
  return {};
}

// "fairlead: finding 7 [root@2026-11-24T15:46:19]" at the end of a node's line, which other keys may follow.
std::string_view ReasonOf(std::string_view line) {
  constexpr std::string_view kKey = " Reason=";
  const size_t at = line.find(kKey);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = line.substr(at + kKey.size());
  const size_t who = rest.rfind(" [");
  return who != std::string_view::npos ? rest.substr(0, who) : rest.substr(0, rest.find_last_not_of(' ') + 1);
}

std::vector<std::string_view> SplitBy(char separator, std::string_view text) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::vector<std::string> Copied(const std::vector<std::string_view>& parts) { return {parts.begin(), parts.end()}; }

Result<std::string> NameOf(size_t number, std::string_view line, std::string_view key) {
  const std::string_view name = ValueOf(line, key);
  if (!line.starts_with(key) || name.empty()) return LineFault(number, fmt::format("{}=", key), line);
  return std::string(name);
}

// Calls read(number, line) for each line, and puts what it returns into a list.
template <class Record, class Read>
Result<std::vector<Record>> ReadLines(std::string_view text, const Read& read) {
  std::vector<Record> records;
  FL_RETURN_IF_ERROR(ForEachLine(text, [&](size_t number, std::string_view line) -> Status {
    Result<Record> record = read(number, line);
    if (!record.ok()) return record.status();
    records.push_back(*std::move(record));
    return OkStatus();
  }));
  return records;
}

}  // namespace

Result<std::vector<Job>> ReadJobLines(std::string_view text) {
  std::vector<Job> jobs;
  for (size_t number = 1; !text.empty(); ++number) {
    FL_ASSIGN_OR_RETURN(const JobText one, TakeJobText(number, &text));
    FL_ASSIGN_OR_RETURN(Job job, ReadJobText(number, one));
    jobs.push_back(std::move(job));
  }
  return jobs;
}

Result<std::vector<Node>> ReadNodeLines(std::string_view text) {
  if (text.starts_with("Node ") && text.find(" not found") != std::string_view::npos) return std::vector<Node>();
  return ReadLines<Node>(text, [](size_t number, std::string_view line) -> Result<Node> {
    Node node;
    FL_ASSIGN_OR_RETURN(node.name, NameOf(number, line, "NodeName"));
    const std::string_view state = ValueOf(line, "State");
    if (state.empty()) return LineFault(number, "State=", line);
    SetNodeState(SplitBy('+', state), &node);
    node.num_gpus = CountGpus(ValueOf(line, "Gres"));
    node.partitions = Copied(SplitList(ValueOf(line, "Partitions")));
    node.reason = ReasonOf(line);
    return node;
  });
}

Result<std::vector<Partition>> ReadPartitionLines(std::string_view text) {
  return ReadLines<Partition>(text, [](size_t number, std::string_view line) -> Result<Partition> {
    Partition partition;
    FL_ASSIGN_OR_RETURN(partition.name, NameOf(number, line, "PartitionName"));
    partition.is_up = ValueOf(line, "State") == "UP";
    partition.is_default = ValueOf(line, "Default") == "YES";
    FL_ASSIGN_OR_RETURN(partition.hosts, ExpandHosts(ValueOf(line, "Nodes")));
    return partition;
  });
}

Result<std::vector<Reservation>> ReadReservationLines(std::string_view text) {
  if (text.starts_with("No reservations in the system")) return std::vector<Reservation>();
  return ReadLines<Reservation>(text, [](size_t number, std::string_view line) -> Result<Reservation> {
    Reservation reservation;
    FL_ASSIGN_OR_RETURN(reservation.name, NameOf(number, line, "ReservationName"));
    FL_ASSIGN_OR_RETURN(reservation.hosts, ExpandHosts(ValueOf(line, "Nodes")));
    reservation.users = Copied(SplitList(ValueOf(line, "Users")));
    reservation.is_active = ValueOf(line, "State") != "INACTIVE";
    return reservation;
  });
}

}  // namespace fairlead::slurm
