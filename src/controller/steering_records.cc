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

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "controller/steering.h"

namespace fairlead::controller {

namespace {

using Json = nlohmann::json;
using model::Finding;

constexpr char kClusterKey[] = "cluster";
constexpr std::string_view kJobKeyPrefix = "job/";
constexpr std::string_view kActionPrefix = "action/";

std::string Text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// JSON has no infinities.
Json NumberToJson(double value) { return std::isfinite(value) ? Json(value) : Json(fmt::format("{}", value)); }

double NumberOf(const Json& json) {
  if (json.is_number()) return json.get<double>();
  const auto text = json.get<std::string>();
  const double infinity = std::numeric_limits<double>::infinity();
  return text == "inf" ? infinity : text == "-inf" ? -infinity : std::numeric_limits<double>::quiet_NaN();
}

template <class IdType>
Json IdToJson(IdType id) {
  return id.valid() ? Json(id.value()) : Json();
}

template <class IdType>
IdType IdOf(const Json& json) {
  return json.is_null() ? IdType() : IdType(json.get<uint32_t>());
}

SimTime TimeOf(const Json& json) { return SimTime(json.get<int64_t>()); }

}  // namespace

// What the file comment lists, from values to JSON.
class SteeringRecordWriter {
 public:
  explicit SteeringRecordWriter(std::span<const std::string> host_names) : host_names_(host_names) {}

  Json ClusterOf(const Steering& steering) const {
    Json tests = Json::array(), history = Json::array();
    for (const auto& [host, number] : steering.tests_) tests.push_back({Host(host), number});
    for (const auto& isolation : steering.history_) {
      history.push_back({isolation.at.ns(), IdToJson(isolation.job)});
    }
    return {{"spares", Hosts(steering.spares_)},
            {"isolated", Hosts(steering.isolated_)},
            {"in_doubt", Hosts(steering.in_doubt_)},
            {"returning", Hosts(steering.returning_)},
            {"isolating", Hosts(steering.isolating_)},
            {"tests", tests},
            {"history", history},
            {"num_actions", steering.num_actions_}};
  }

  Json JobOf(const Steering& steering, JobId id) const {
    const Steering::Job& job = steering.jobs_.at(id);
    Json held_up = Json::array(), judged = Json::array();
    for (const auto& [number, finding] : job.held_up) held_up.push_back({FindingJson(finding.first), finding.second});
    for (const auto& [of, number, first_seen] : steering.judged_) {
      if (of == id) judged.push_back({number.value(), first_seen.ns()});
    }
    const auto sequence = steering.sequences_.find(id);
    return {{"hosts", Hosts(job.hosts)},
            {"can_shrink", job.can_shrink},
            {"needs_operator", job.needs_operator},
            {"hold_off_until", job.hold_off_until.ns()},
            {"paused_until", job.paused_until.ns()},
            {"pause_reason", job.pause_reason},
            {"held_up", held_up},
            {"judged", judged},
            {"sequence", sequence == steering.sequences_.end() ? Json() : SequenceJson(sequence->second)}};
  }

  Json ActionOf(const ActionAttempts::Open& open) const {
    const SteeringAction& action = open.action;
    Json evidence = Json::array();
    for (const model::Evidence& item : action.evidence) evidence.push_back(EvidenceJson(item));
    return {{"number", action.number},
            {"attempt", action.attempt},
            {"step", StepJson(action.step)},
            {"job", IdToJson(action.job)},
            {"finding", IdToJson(action.finding)},
            {"confidence", NumberToJson(action.confidence)},
            {"evidence", evidence},
            {"reason", action.reason},
            {"is_told", open.is_sent},
            {"due", open.due.ns()}};
  }

 private:
  Json Host(HostId host) const {
    if (!host.valid()) return {};
    return host.index() < host_names_.size() ? Json(host_names_[host.index()]) : Json(host.value());
  }

  template <class HostRange>
  Json Hosts(const HostRange& hosts) const {
    Json list = Json::array();
    for (const HostId host : hosts) list.push_back(Host(host));
    return list;
  }

  Json SequenceJson(const Steering::Sequence& sequence) const {
    return {{"finding", FindingJson(sequence.finding)},
            {"to_isolate", Hosts(sequence.to_isolate)},
            {"to_replace", Hosts(sequence.to_replace)},
            {"hosts", Hosts(sequence.hosts)},
            {"reserved", Hosts(sequence.reserved)},
            {"taken", Hosts(sequence.taken)},
            {"is_stopped", sequence.is_stopped},
            {"waits_for_spare", sequence.waits_for_spare},
            {"current", sequence.current}};
  }

  Json StepJson(const SteeringStep& step) const {
    Json json = {{"is", Name(step)}};
    if (const auto* isolate = std::get_if<IsolateHost>(&step)) json["host"] = Host(isolate->host);
    if (const auto* stop = std::get_if<StopJob>(&step)) json["job"] = stop->job.value();
    if (const auto* take = std::get_if<TakeSpare>(&step)) {
      json["job"] = take->job.value();
      json["spare"] = Host(take->spare);
      json["replaces"] = Host(take->replaces);
    }
    if (const auto* restart = std::get_if<RestartJob>(&step)) {
      json["job"] = restart->job.value();
      json["hosts"] = Hosts(restart->hosts);
    }
    if (const auto* test = std::get_if<TestHost>(&step)) json["host"] = Host(test->host);
    if (const auto* back = std::get_if<ReturnHost>(&step)) json["host"] = Host(back->host);
    return json;
  }

  static Json EvidenceJson(const model::Evidence& item) {
    return {item.what, NumberToJson(item.value), NumberToJson(item.baseline), item.unit};
  }

  Json CulpritJson(const model::Culprit& culprit) const {
    return {{"kind", static_cast<uint32_t>(culprit.kind)},
            {"rank", IdToJson(culprit.rank)},
            {"peer", IdToJson(culprit.peer)},
            {"host", Host(culprit.host)},
            {"nic", IdToJson(culprit.nic)},
            {"leaf", IdToJson(culprit.leaf)},
            {"plane", culprit.plane ? Json(*culprit.plane) : Json()}};
  }

  Json FindingJson(const Finding& finding) const {
    Json culprits = Json::array(), evidence = Json::array(), symptoms = Json::array();
    for (const model::Culprit& culprit : finding.culprits) culprits.push_back(CulpritJson(culprit));
    for (const model::Evidence& item : finding.evidence) evidence.push_back(EvidenceJson(item));
    for (const model::FindingId symptom : finding.symptoms) symptoms.push_back(symptom.value());
    return {{"id", IdToJson(finding.id)},
            {"job", IdToJson(finding.job)},
            {"syndrome", static_cast<uint32_t>(finding.syndrome)},
            {"state", static_cast<uint32_t>(finding.state)},
            {"culprits", culprits},
            {"communicator", IdToJson(finding.communicator)},
            {"operation", finding.operation ? Json(static_cast<uint32_t>(*finding.operation)) : Json()},
            {"sequence", finding.sequence},
            {"sub_cause", static_cast<uint32_t>(finding.sub_cause)},
            {"evidence", evidence},
            {"summary", finding.summary},
            {"confidence", NumberToJson(finding.confidence)},
            {"action", static_cast<uint32_t>(finding.action)},
            {"first_seen", finding.first_seen.ns()},
            {"confirmed", finding.confirmed.ns()},
            {"cleared", finding.cleared.ns()},
            {"symptoms", symptoms}};
  }

  std::span<const std::string> host_names_;
};

// And back. What is not as it should be makes the library throw, which Steering::Restore() takes; values out of their
// range are noted here.
class SteeringRecordReader {
 public:
  explicit SteeringRecordReader(std::span<const std::string> host_names) {
    for (size_t i = 0; i < host_names.size(); ++i) ids_[host_names[i]] = HostId(i);
  }

  bool is_good() const { return is_good_; }
  const std::set<std::string>& lost_hosts() const { return lost_hosts_; }
  // Whether a lost host was named since the last call.
  bool TakeLoss() { return std::exchange(has_lost_, false); }

  void ReadCluster(const Json& json, Steering* steering) {
    ReadHosts(json.at("spares"), &steering->spares_);
    ReadHosts(json.at("isolated"), &steering->isolated_);
    ReadHosts(json.at("in_doubt"), &steering->in_doubt_);
    ReadHosts(json.at("returning"), &steering->returning_);
    ReadHosts(json.at("isolating"), &steering->isolating_);
    for (const Json& test : json.at("tests")) {
      steering->tests_[HostOf(test.at(0))] = test.at(1).get<uint64_t>();
    }
    for (const Json& isolation : json.at("history")) {
      steering->history_.push_back({TimeOf(isolation.at(0)), IdOf<JobId>(isolation.at(1))});
    }
    steering->num_actions_ = json.at("num_actions").get<uint64_t>();
  }

  void ReadJob(const Json& json, JobId id, Steering* steering) {
    Steering::Job& job = steering->jobs_[id];
    ReadHosts(json.at("hosts"), &job.hosts);
    job.can_shrink = json.at("can_shrink").get<bool>();
    job.needs_operator = json.at("needs_operator").get<bool>();
    job.hold_off_until = TimeOf(json.at("hold_off_until"));
    job.paused_until = TimeOf(json.at("paused_until"));
    job.pause_reason = json.at("pause_reason").get<std::string>();
    for (const Json& item : json.at("held_up")) {
      const Finding finding = FindingOf(item.at(0));
      job.held_up[finding.id] = {finding, item.at(1).get<std::string>()};
    }
    for (const Json& item : json.at("judged")) {
      steering->judged_.emplace(id, IdOf<model::FindingId>(item.at(0)), TimeOf(item.at(1)));
    }
    if (!json.at("sequence").is_null()) steering->sequences_[id] = SequenceOf(json.at("sequence"));
  }

  ActionAttempts::Open ActionOf(const Json& json) {
    ActionAttempts::Open open;
    open.action.number = json.at("number").get<uint64_t>();
    open.action.attempt = json.at("attempt").get<uint32_t>();
    open.action.step = StepOf(json.at("step"));
    open.action.job = IdOf<JobId>(json.at("job"));
    open.action.finding = IdOf<model::FindingId>(json.at("finding"));
    open.action.confidence = NumberOf(json.at("confidence"));
    for (const Json& item : json.at("evidence")) open.action.evidence.push_back(EvidenceOf(item));
    open.action.reason = json.at("reason").get<std::string>();
    open.is_sent = json.at("is_told").get<bool>();
    open.due = TimeOf(json.at("due"));
    return open;
  }

 private:
  HostId HostOf(const Json& json) {
    if (json.is_null()) return {};
    if (json.is_number()) return HostId(json.get<uint32_t>());
    const auto name = json.get<std::string>();
    if (const auto found = ids_.find(name); found != ids_.end()) return found->second;
    lost_hosts_.insert(name);
    has_lost_ = true;
    return {};
  }

  template <class Hosts>
  void ReadHosts(const Json& json, Hosts* hosts) {
    for (const Json& item : json) hosts->insert(hosts->end(), HostOf(item));
  }

  template <class Enum>
  Enum EnumOf(const Json& json, uint32_t size) {
    const auto value = json.get<uint32_t>();
    if (value < size) return static_cast<Enum>(value);
    is_good_ = false;
    return Enum{};
  }

  Steering::Sequence SequenceOf(const Json& json) {
    Steering::Sequence sequence;
    sequence.finding = FindingOf(json.at("finding"));
    ReadHosts(json.at("to_isolate"), &sequence.to_isolate);
    ReadHosts(json.at("to_replace"), &sequence.to_replace);
    ReadHosts(json.at("hosts"), &sequence.hosts);
    ReadHosts(json.at("reserved"), &sequence.reserved);
    ReadHosts(json.at("taken"), &sequence.taken);
    sequence.is_stopped = json.at("is_stopped").get<bool>();
    sequence.waits_for_spare = json.at("waits_for_spare").get<bool>();
    sequence.current = json.at("current").get<uint64_t>();
    return sequence;
  }

  SteeringStep StepOf(const Json& json) {
    const auto is = json.at("is").get<std::string>();
    if (is == Name(StopJob{})) return StopJob{IdOf<JobId>(json.at("job"))};
    if (is == Name(TakeSpare{})) {
      return TakeSpare{IdOf<JobId>(json.at("job")), HostOf(json.at("spare")), HostOf(json.at("replaces"))};
    }
    if (is == Name(RestartJob{})) {
      RestartJob restart{IdOf<JobId>(json.at("job")), {}};
      ReadHosts(json.at("hosts"), &restart.hosts);
      return restart;
    }
    const HostId host = HostOf(json.at("host"));
    if (is == Name(IsolateHost{})) return IsolateHost{host};
    if (is == Name(TestHost{})) return TestHost{host};
    if (is == Name(ReturnHost{})) return ReturnHost{host};
    is_good_ = false;
    return IsolateHost{};
  }

  static model::Evidence EvidenceOf(const Json& json) {
    return {json.at(0).get<std::string>(), NumberOf(json.at(1)), NumberOf(json.at(2)), json.at(3).get<std::string>()};
  }

  model::Culprit CulpritOf(const Json& json) {
    model::Culprit culprit;
    culprit.kind = EnumOf<model::CulpritKind>(json.at("kind"), static_cast<uint32_t>(model::CulpritKind::kPlane) + 1);
    culprit.rank = IdOf<model::RankId>(json.at("rank"));
    culprit.peer = IdOf<model::RankId>(json.at("peer"));
    culprit.host = HostOf(json.at("host"));
    culprit.nic = IdOf<NicId>(json.at("nic"));
    culprit.leaf = IdOf<model::LeafId>(json.at("leaf"));
    if (!json.at("plane").is_null()) culprit.plane = json.at("plane").get<uint32_t>();
    return culprit;
  }

  Finding FindingOf(const Json& json) {
    using model::FindingState, model::OperationKind, model::RecommendedAction, model::SubCause, model::Syndrome;
    Finding finding;
    finding.id = IdOf<model::FindingId>(json.at("id"));
    finding.job = IdOf<JobId>(json.at("job"));
    finding.syndrome = EnumOf<Syndrome>(json.at("syndrome"), model::kNumSyndromes);
    finding.state = EnumOf<FindingState>(json.at("state"), static_cast<uint32_t>(FindingState::kCleared) + 1);
    for (const Json& item : json.at("culprits")) finding.culprits.push_back(CulpritOf(item));
    finding.communicator = IdOf<model::CommunicatorId>(json.at("communicator"));
    if (const Json& operation = json.at("operation"); !operation.is_null()) {
      finding.operation = EnumOf<OperationKind>(operation, model::kNumOperationKinds);
    }
    finding.sequence = json.at("sequence").get<uint64_t>();
    finding.sub_cause = EnumOf<SubCause>(json.at("sub_cause"), static_cast<uint32_t>(SubCause::kProcess) + 1);
    for (const Json& item : json.at("evidence")) finding.evidence.push_back(EvidenceOf(item));
    finding.summary = json.at("summary").get<std::string>();
    finding.confidence = NumberOf(json.at("confidence"));
    const auto num_actions = static_cast<uint32_t>(RecommendedAction::kRepairPath) + 1;
    finding.action = EnumOf<RecommendedAction>(json.at("action"), num_actions);
    finding.first_seen = TimeOf(json.at("first_seen"));
    finding.confirmed = TimeOf(json.at("confirmed"));
    finding.cleared = TimeOf(json.at("cleared"));
    for (const Json& item : json.at("symptoms")) finding.symptoms.push_back(IdOf<model::FindingId>(item));
    return finding;
  }

  std::map<std::string, HostId> ids_;
  std::set<std::string> lost_hosts_;
  bool has_lost_ = false;
  bool is_good_ = true;
};

std::vector<std::pair<std::string, std::string>> Steering::Records(std::span<const std::string> host_names) const {
  const SteeringRecordWriter writer(host_names);
  std::vector<std::pair<std::string, std::string>> records;
  for (const auto& [number, open] : attempts_.open()) {
    records.emplace_back(fmt::format("{}{}", kActionPrefix, number), Text(writer.ActionOf(open)));
  }
  records.emplace_back(kClusterKey, Text(writer.ClusterOf(*this)));
  for (const auto& [id, job] : jobs_) {
    records.emplace_back(fmt::format("{}{}", kJobKeyPrefix, id.value()), Text(writer.JobOf(*this, id)));
  }
  return records;
}

Result<std::vector<std::string>> Steering::Restore(std::span<const std::pair<std::string, std::string>> records,
                                                   std::span<const std::string> host_names) {
  SteeringRecordReader reader(host_names);
  std::vector<uint64_t> lost_actions;
  std::vector<JobId> lost_jobs;
  for (const auto& [key, value] : records) {
    const auto damaged = [&key = key] {  // Clang 14 captures no structured binding by itself
      return Status(StatusCode::kDataLoss, fmt::format("store: record {} of steering can't be read", key));
    };
    try {
      const Json json = Json::parse(value);
      reader.TakeLoss();
      if (key == kClusterKey) {
        reader.ReadCluster(json, this);
      } else if (key.starts_with(kJobKeyPrefix)) {
        uint32_t number = 0;
        const char* end = key.data() + key.size();
        if (std::from_chars(key.data() + kJobKeyPrefix.size(), end, number).ptr != end) return damaged();
        reader.ReadJob(json, JobId(number), this);
        if (reader.TakeLoss()) lost_jobs.emplace_back(number);
      } else if (key.starts_with(kActionPrefix)) {
        ActionAttempts::Open open = reader.ActionOf(json);
        if (reader.TakeLoss()) lost_actions.push_back(open.action.number);
        attempts_.Restore(std::move(open));
      }
    } catch (const Json::exception&) {
      return damaged();
    }
    if (!reader.is_good()) return damaged();
  }
  Forget(lost_jobs, lost_actions);
  std::vector<std::string> forgotten;
  for (const std::string& name : reader.lost_hosts()) {
    forgotten.push_back(fmt::format("host {} is not in the fabric any more; its condition is forgotten", name));
  }
  for (const JobId job : lost_jobs) {
    forgotten.push_back(fmt::format("job {} was of such a host; what was under way for it is forgotten", job.value()));
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
  for (auto& [id, job] : jobs_) job.held_up.clear();
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
