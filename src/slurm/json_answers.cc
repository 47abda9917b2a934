#include "slurm/json_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "slurm/host_list.h"
#include "slurm/json_records.h"
#include "slurm/state_names.h"

namespace fairlead::slurm {
namespace {

using Json = nlohmann::json;

// "no value" of 32 bits, and "infinite", which versions before 23.02 write as numbers.
constexpr double kNoValue = 4'294'967'294.0;

const Json* Find(const Json& record, const char* key) {
  if (!record.is_object()) return nullptr;
  const auto found = record.find(key);
  return found == record.end() || found->is_null() ? nullptr : &*found;
}

// 4, or {"set": true, "infinite": false, "number": 4}; nothing: there is none, or it is no number of 32 bits.
std::optional<int64_t> Number(const Json* value) {
  if (value == nullptr) return std::nullopt;
  if (value->is_object()) {
    const Json* set = Find(*value, "set");
    const Json* infinite = Find(*value, "infinite");
    if (set != nullptr && set->is_boolean() && !set->get<bool>()) return std::nullopt;
    if (infinite != nullptr && infinite->is_boolean() && infinite->get<bool>()) return std::nullopt;
    value = Find(*value, "number");
  }
  if (value == nullptr || !value->is_number()) return std::nullopt;
  const double number = value->get<double>();
  if (!(std::abs(number) < kNoValue)) return std::nullopt;
  return static_cast<int64_t>(number);
}

uint32_t Count(const Json& record, const char* key, uint32_t otherwise = 0) {
  const auto number = Number(Find(record, key));
  return number.has_value() && *number >= 0 ? static_cast<uint32_t>(*number) : otherwise;
}

std::string Text(const Json* value) { return value != nullptr && value->is_string() ? value->get<std::string>() : ""; }
std::string Text(const Json& record, const char* key) { return Text(Find(record, key)); }

bool IsTrue(const Json& record, const char* key) {
  const Json* value = Find(record, key);
  return value != nullptr && value->is_boolean() && value->get<bool>();
}

// "A", "A,B" or ["A", "B"]; appended. The views are of `value`.
void TakeWords(const Json* value, std::vector<std::string_view>* words) {
  if (value == nullptr) return;
  if (value->is_string()) {
    for (const std::string_view word : SplitList(value->get_ref<const std::string&>())) words->push_back(word);
  }
  if (!value->is_array()) return;
  for (const Json& word : *value) {
    if (word.is_string()) words->push_back(word.get_ref<const std::string&>());
  }
}

std::vector<std::string> Words(const Json& record, const char* key) {
  std::vector<std::string_view> words;
  TakeWords(Find(record, key), &words);
  return {words.begin(), words.end()};
}

Status NoName(const char* what, const char* key) {
  return InvalidArgument(fmt::format("Slurm's answer: a {} without \"{}\"", what, key));
}

// Of a job: "nodes", or from 24.05 on what its resources say while it has some.
Result<std::vector<std::string>> HostsOf(const Json& record) {
  std::string list = Text(record, "nodes");
  if (const Json* resources = Find(record, "job_resources"); list.empty() && resources != nullptr) {
    const Json* nodes = Find(*resources, "nodes");
    list = nodes != nullptr && nodes->is_object() ? Text(*nodes, "list") : Text(nodes);
  }
  return ExpandHosts(list);
}

Result<Job> ReadJob(const Json& record) {
  Job job;
  const auto id = Number(Find(record, "job_id"));
  const auto owner = Number(Find(record, "user_id"));
  if (!id.has_value() || *id <= 0) return NoName("job", "job_id");
  if (!owner.has_value() || *owner < 0) return NoName("job", "user_id");
  job.id = static_cast<uint32_t>(*id);
  job.owner = static_cast<uint32_t>(*owner);
  job.is_single = Count(record, "array_job_id") == 0 && Count(record, "het_job_id") == 0;
  job.num_restarts = Count(record, "restart_cnt");
  std::vector<std::string_view> states;
  TakeWords(Find(record, "job_state"), &states);
  job.state = JobStateOf(states);
  if (job.state == JobState::kEnded && !states.empty()) job.end = states.front();
  const auto priority = Number(Find(record, "priority"));
  job.is_held = job.state == JobState::kPending && (priority == 0 || IsTrue(record, "hold"));
  job.may_requeue = IsTrue(record, "requeue");
  job.num_nodes = Count(record, "node_count");
  job.num_nodes_max = std::max(job.num_nodes, Count(record, "max_nodes"));
  job.num_cpus = Count(record, "cpus");
  job.num_tasks = Count(record, "tasks");
  job.tasks_per_node = Count(record, "tasks_per_node");
  job.cpus_per_task = std::max(1u, Count(record, "cpus_per_task", 1));
  job.nice =
      static_cast<int32_t>(std::clamp<int64_t>(Number(Find(record, "nice")).value_or(0), -2'147'483'645, INT32_MAX));
  job.partition = Text(record, "partition");
  job.has_dependency = job.state == JobState::kPending && !Text(record, "dependency").empty();
  job.reason = Text(record, "state_reason");
  if (job.reason == "None") job.reason.clear();
  job.admin_comment = Text(record, "admin_comment");
  const Json* comment = Find(record, "comment");
  // From 23.02 on an object, in some versions.
  job.comment = comment != nullptr && comment->is_object() ? Text(*comment, "job") : Text(comment);
  if (comment != nullptr && comment->is_object() && job.admin_comment.empty()) {
    job.admin_comment = Text(*comment, "administrator");
  }
  FL_ASSIGN_OR_RETURN(job.hosts, HostsOf(record));
  const std::vector<std::string> devices = Words(record, "gres_detail");
  if (!job.has_hosts() || devices.size() != job.hosts.size()) return job;
  for (size_t i = 0; i < devices.size(); ++i) job.gpus.push_back({job.hosts[i], GpuIndices(devices[i])});
  return job;
}

Result<Node> ReadNode(const Json& record) {
  Node node;
  node.name = Text(record, "name");
  if (node.name.empty()) return NoName("node", "name");
  std::vector<std::string_view> states;
  TakeWords(Find(record, "state"), &states);
  TakeWords(Find(record, "state_flags"), &states);
  SetNodeState(states, &node);
  node.num_gpus = CountGpus(Text(record, "gres"));
  node.partitions = Words(record, "partitions");
  node.reason = Text(record, "reason");
  return node;
}

Result<Partition> ReadPartition(const Json& record) {
  Partition partition;
  partition.name = Text(record, "name");
  if (partition.name.empty()) return NoName("partition", "name");
  std::vector<std::string_view> states;
  TakeWords(Find(record, "state"), &states);
  if (const Json* inner = Find(record, "partition"); inner != nullptr) TakeWords(Find(*inner, "state"), &states);
  partition.is_up = std::ranges::find(states, std::string_view("UP")) != states.end();
  std::vector<std::string> flags = Words(record, "flags");
  partition.is_default =
      std::ranges::any_of(flags, [](const std::string& f) { return f == "default" || f == "DEFAULT"; });
  const Json* nodes = Find(record, "nodes");
  const std::string list = nodes != nullptr && nodes->is_object() ? Text(*nodes, "configured") : Text(nodes);
  FL_ASSIGN_OR_RETURN(partition.hosts, ExpandHosts(list));
  return partition;
}

Result<Reservation> ReadReservation(const Json& record) {
  Reservation reservation;
  reservation.name = Text(record, "name");
  if (reservation.name.empty()) return NoName("reservation", "name");
  FL_ASSIGN_OR_RETURN(reservation.hosts, ExpandHosts(Text(record, "node_list")));
  reservation.users = Words(record, "users");
  return reservation;
}

template <class Record>
Result<std::vector<Record>> ReadRecords(std::string_view text, const JsonRecordOptions& options,
                                        Result<Record> (*read)(const Json&)) {
  std::vector<Record> records;
  FL_RETURN_IF_ERROR(ForEachJsonRecord(text, options, [&](const Json& json) -> Status {
    Result<Record> record = read(json);
    if (!record.ok()) return record.status();
    records.push_back(*std::move(record));
    return OkStatus();
  }));
  return records;
}

}  // namespace

Result<std::vector<Job>> ReadJobsJson(std::string_view text) {
  static const JsonRecordOptions kOptions = {
      "jobs", {"job_id",        "user_id",        "array_job_id",  "het_job_id",    "restart_cnt", "job_state",
               "priority",      "hold",           "requeue",       "node_count",    "max_nodes",   "cpus",
               "tasks",         "tasks_per_node", "cpus_per_task", "nice",          "partition",   "state_reason",
               "admin_comment", "comment",        "nodes",         "job_resources", "gres_detail", "dependency"}};
  return ReadRecords<Job>(text, kOptions, ReadJob);
}

Result<std::vector<Node>> ReadNodesJson(std::string_view text) {
  static const JsonRecordOptions kOptions = {"nodes", {"name", "state", "state_flags", "gres", "partitions", "reason"}};
  return ReadRecords<Node>(text, kOptions, ReadNode);
}

Result<std::vector<Partition>> ReadPartitionsJson(std::string_view text) {
  static const JsonRecordOptions kOptions = {"partitions", {"name", "state", "partition", "flags", "nodes"}};
  return ReadRecords<Partition>(text, kOptions, ReadPartition);
}

Result<std::vector<Reservation>> ReadReservationsJson(std::string_view text) {
  static const JsonRecordOptions kOptions = {"reservations", {"name", "node_list", "users"}};
  return ReadRecords<Reservation>(text, kOptions, ReadReservation);
}

}  // namespace fairlead::slurm
