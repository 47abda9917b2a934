// The state of steering as records, so that no isolated host is forgotten when the process is killed.
//
// Layout      "cluster"        what is known of hosts, the isolations of the last day, the number of the last action
//             "job/<id>"       its hosts, limits in time, findings held up or judged, and its sequence
//             "action/<n>"     an action that is not answered, and until when it waits or pauses
//             One JSON object each; times in ns, hosts by name.
// Guarantees  Restore() of Records() makes the same state. A host whose name has no id any more was taken out of the
//             fabric: it is forgotten, and so is the job that it was of, with what is under way for it.
// Differs     docs/spec/c4.md section 7.3 only says that actions are logged; that they go on over a restart is ours.
#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "codec/json_archive.h"
#include "controller/steering.h"
#include "model/finding_fields.h"

namespace fairlead::controller {

namespace {

constexpr char kClusterKey[] = "cluster";
constexpr std::string_view kJobKeyPrefix = "job/";
constexpr std::string_view kActionPrefix = "action/";

struct HostTest {
  HostId host;
  uint64_t action = 0;  // its number
};

struct ClusterRecord {
  std::set<HostId> spares;
  std::set<HostId> isolated;
  std::set<HostId> in_doubt;
  std::set<HostId> returning;
  std::set<HostId> isolating;
  std::vector<HostTest> tests;
  std::vector<HostIsolation> history;
  uint64_t num_actions = 0;
};

struct JudgedFinding {
  model::FindingId finding;
  SimTime first_seen;
};

struct JobRecord {
  SteeredJob job;
  std::vector<SteeredJob::HeldUp> held_up;
  std::vector<JudgedFinding> judged;
  std::optional<SteeringSequence> sequence;
};

template <class Archive, codec::IsRecord<HostTest> Record>
void Describe(Archive& archive, Record& test) {
  archive.Required("host", test.host);
  archive.Required("action", test.action);
}

template <class Archive, codec::IsRecord<ClusterRecord> Record>
void Describe(Archive& archive, Record& cluster) {
  archive.Required("spares", cluster.spares);
  archive.Required("isolated", cluster.isolated);
  archive.Required("in_doubt", cluster.in_doubt);
  archive.Required("returning", cluster.returning);
  archive.Required("isolating", cluster.isolating);
  archive.Required("tests", cluster.tests);
  archive.Required("history", cluster.history);
  archive.Required("num_actions", cluster.num_actions);
}

template <class Archive, codec::IsRecord<JudgedFinding> Record>
void Describe(Archive& archive, Record& judged) {
  archive.Required("finding", judged.finding);
  archive.Required("first_seen", judged.first_seen);
}

template <class Archive, codec::IsRecord<JobRecord> Record>
void Describe(Archive& archive, Record& record) {
  auto& job = record.job;
  archive.Required("hosts", job.hosts);
  archive.Required("can_shrink", job.can_shrink);
  archive.Required("needs_operator", job.needs_operator);
  archive.Optional("has_unverified_owner", job.has_unverified_owner);
  archive.Required("hold_off_until", job.hold_off_until);
  archive.Required("paused_until", job.paused_until);
  archive.Required("pause_reason", job.pause_reason);
  archive.Required("held_up", record.held_up);
  archive.Required("judged", record.judged);
  archive.Required("sequence", record.sequence);
}

// Bytes of names that are no UTF-8 are replaced.
template <class Record>
std::string Text(const Record& record, const codec::HostNames& hosts) {
  return codec::ToJson(record, &hosts).dump(-1, ' ', false, codec::Json::error_handler_t::replace);
}

}  // namespace

template <class Archive, codec::IsRecord<HostIsolation> Record>
void Describe(Archive& archive, Record& isolation) {
  archive.Required("at", isolation.at);
  archive.Optional("job", isolation.job);
}

template <class Archive, codec::IsRecord<SteeredJob::HeldUp> Record>
void Describe(Archive& archive, Record& held_up) {
  archive.Required("finding", held_up.finding);
  archive.Required("rule", held_up.rule);
}

template <class Archive, codec::IsRecord<SteeringSequence> Record>
void Describe(Archive& archive, Record& sequence) {
  archive.Required("finding", sequence.finding);
  archive.Required("to_isolate", sequence.to_isolate);
  archive.Required("to_replace", sequence.to_replace);
  archive.Required("hosts", sequence.hosts);
  archive.Required("reserved", sequence.reserved);
  archive.Required("taken", sequence.taken);
  archive.Required("is_stopped", sequence.is_stopped);
  archive.Required("waits_for_spare", sequence.waits_for_spare);
  archive.Required("current", sequence.current);
}

template <class Archive, class Record>
requires codec::IsRecord<Record, IsolateHost> || codec::IsRecord<Record, TestHost> ||
    codec::IsRecord<Record, ReturnHost>
void Describe(Archive& archive, Record& step) { archive.Required("host", step.host); }

template <class Archive, codec::IsRecord<StopJob> Record>
void Describe(Archive& archive, Record& stop) {
  archive.Required("job", stop.job);
}

template <class Archive, codec::IsRecord<TakeSpare> Record>
void Describe(Archive& archive, Record& take) {
  archive.Required("job", take.job);
  archive.Required("spare", take.spare);
  archive.Required("replaces", take.replaces);
}

template <class Archive, codec::IsRecord<RestartJob> Record>
void Describe(Archive& archive, Record& restart) {
  archive.Required("job", restart.job);
  archive.Required("hosts", restart.hosts);
}

// Those that are answered: no others are open.
template <class Archive, codec::IsRecord<SteeringStep> Record>
void Describe(Archive& archive, Record& step) {
  archive.template OneOf<IsolateHost>("isolate_host", step);
  archive.template OneOf<StopJob>("stop_job", step);
  archive.template OneOf<TakeSpare>("take_spare", step);
  archive.template OneOf<RestartJob>("restart_job", step);
  archive.template OneOf<TestHost>("test_host", step);
  archive.template OneOf<ReturnHost>("return_host", step);
}

template <class Archive, codec::IsRecord<ActionAttempts::Open> Record>
void Describe(Archive& archive, Record& open) {
  auto& action = open.action;
  archive.Required("number", action.number);
  archive.Required("attempt", action.attempt);
  archive.Required("step", action.step);
  archive.Optional("job", action.job);
  archive.Optional("finding", action.finding);
  archive.Required("confidence", action.confidence, codec::MaybeInfinite());
  archive.Required("evidence", action.evidence);
  archive.Required("reason", action.reason);
  archive.Required("is_sent", open.is_sent);
  archive.Required("due", open.due);
}

std::vector<std::pair<std::string, std::string>> Steering::Records(std::span<const std::string> host_names) const {
  const codec::HostNames hosts(host_names);
  std::vector<std::pair<std::string, std::string>> records;
  for (const auto& [number, open] : attempts_.open()) {
    records.emplace_back(fmt::format("{}{}", kActionPrefix, number), Text(open, hosts));
  }
  ClusterRecord cluster = {spares_, isolated_, in_doubt_, returning_, isolating_, {}, history_, num_actions_};
  for (const auto& [host, action] : tests_) cluster.tests.push_back({host, action});
  records.emplace_back(kClusterKey, Text(cluster, hosts));
  for (const auto& [id, job] : jobs_) {
    JobRecord record = {job, {}, {}, {}};
    for (const auto& [finding, held_up] : job.held_up) record.held_up.push_back(held_up);
    for (const auto& [of, finding, first_seen] : judged_) {
      if (of == id) record.judged.push_back({finding, first_seen});
    }
    if (const auto found = sequences_.find(id); found != sequences_.end()) record.sequence = found->second;
    records.emplace_back(fmt::format("{}{}", kJobKeyPrefix, id.value()), Text(record, hosts));
  }
  return records;
}

Result<std::vector<std::string>> Steering::Restore(std::span<const std::pair<std::string, std::string>> records,
                                                   std::span<const std::string> host_names) {
  codec::HostNames hosts(host_names);
  std::vector<uint64_t> lost_actions;
  std::vector<JobId> lost_jobs;
  for (const auto& [key, value] : records) {
    const auto damaged = [&key = key](const std::string& what) {  // Clang 14 captures no structured binding by itself
      return Status(StatusCode::kDataLoss, fmt::format("store: record {} of steering can't be read: {}", key, what));
    };
    const Result<codec::Json> json = codec::ParseJson(value, "the record");
    if (!json.ok()) return damaged(std::string(json.status().message()));
    const auto read = [&json, &hosts](auto* record) {
      return codec::WithoutJoint(codec::ReadValue(*json, {codec::UnknownKeys::kIgnored, &hosts}, record));
    };
    hosts.TakeLoss();
    std::string fault;
    if (key == kClusterKey) {
      ClusterRecord cluster;
      fault = read(&cluster);
      spares_ = std::move(cluster.spares);
      isolated_ = std::move(cluster.isolated);
      in_doubt_ = std::move(cluster.in_doubt);
      returning_ = std::move(cluster.returning);
      isolating_ = std::move(cluster.isolating);
      for (const HostTest& test : cluster.tests) tests_[test.host] = test.action;
      history_ = std::move(cluster.history);
      num_actions_ = cluster.num_actions;
    } else if (key.starts_with(kJobKeyPrefix)) {
      uint32_t number = 0;
      const char* end = key.data() + key.size();
      if (std::from_chars(key.data() + kJobKeyPrefix.size(), end, number).ptr != end) return damaged("no such job");
      const JobId id(number);
      JobRecord record;
      fault = read(&record);
      for (SteeredJob::HeldUp& held_up : record.held_up) {
        const model::FindingId finding = held_up.finding.id;
        record.job.held_up.insert_or_assign(finding, std::move(held_up));
      }
      jobs_[id] = std::move(record.job);
      for (const JudgedFinding& judged : record.judged) judged_.emplace(id, judged.finding, judged.first_seen);
      if (record.sequence.has_value()) sequences_[id] = *std::move(record.sequence);
      if (hosts.TakeLoss()) lost_jobs.push_back(id);
    } else if (key.starts_with(kActionPrefix)) {
      ActionAttempts::Open open;
      fault = read(&open);
      if (hosts.TakeLoss()) lost_actions.push_back(open.action.number);
      attempts_.Restore(std::move(open));
    }
    if (!fault.empty()) return damaged(fault);
  }
  Forget(lost_jobs, lost_actions);
  std::vector<std::string> forgotten;
  for (const std::string& name : hosts.lost()) {
    forgotten.push_back(fmt::format("host {} is not in the fabric any more; its condition is forgotten", name));
  }
  for (const JobId job : lost_jobs) {
    forgotten.push_back(fmt::format("job {} was on such a host; what was under way for it is forgotten", job.value()));
  }
  return forgotten;
}

void Steering::Forget(std::span<const JobId> jobs, std::span<const uint64_t> actions) {
  for (const JobId job : jobs) {
    Drop(job);
    jobs_.erase(job);
    std::erase_if(judged_, [&](const auto& judged) { return std::get<JobId>(judged) == job; });
  }
  for (const uint64_t number : actions) attempts_.Forget(number);
  for (std::set<HostId>* hosts : {&spares_, &isolated_, &in_doubt_, &returning_, &isolating_}) hosts->erase(HostId());
  tests_.erase(HostId());
}

std::vector<SteeringAction> Steering::Resume(SimTime now) {
  judged_.clear();
  for (auto& [id, job] : jobs_) {
    job.held_up.clear();
    job.hold_off_until = std::min(job.hold_off_until, now + options_.hold_off);  // the clock was ahead
  }
  return attempts_.BeginAnew(now);
}

std::vector<SteeringAction> Steering::Abandon(SimTime now, const std::string& why) {
  std::vector<JobId> busy;
  for (const auto& [job, sequence] : sequences_) busy.push_back(job);
  for (const JobId job : busy) {
    const Sequence& sequence = sequences_.at(job);
    const SteeringAction* current = attempts_.Find(sequence.current);
    const std::string what = current == nullptr ? "a restart" : Describe(current->step);
    jobs_.at(job).needs_operator = true;
    Tell(now, AskOperator{job, HostId()}, job, &sequence.finding,
         fmt::format("{}; {} was under way: restart the job by hand, or end it", why, what));
    Drop(job);
    EndExcuse(now, job);
  }
  // Whether the host was isolated is not known; no work is placed on it as long as it counts as isolated.
  isolating_.clear();
  returning_.clear();
  tests_.clear();
  std::vector<uint64_t> open;
  for (const auto& [number, attempt] : attempts_.open()) open.push_back(number);
  for (const uint64_t number : open) attempts_.Forget(number);
  return std::exchange(actions_, {});
}

}  // namespace fairlead::controller
