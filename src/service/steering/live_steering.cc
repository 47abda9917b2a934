#include "service/steering/live_steering.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "model/job_identity.h"
#include "service/steering/action_json.h"
#include "service/steering/hook_message.h"

namespace fairlead::service {
namespace {

using controller::AuditEntry;
using controller::HostCondition;
using controller::Noted;
using controller::SteeringAction;
using controller::SteeringEvent;
using controller::SteeringMode;
using report::Json;

constexpr std::string_view kPrefix = "steering/";
constexpr std::string_view kStatePrefix = "steering/state/";
constexpr std::string_view kNamePrefix = "steering/name/";
constexpr char kLastFindingKey[] = "steering/last_finding";
constexpr char kReportedKey[] = "steering/told";
constexpr SimDuration kDay(86'400'000'000'000);
// What time alone changes of the view (pauses, the last day) is seen then.
constexpr SimDuration kViewPeriod(5'000'000'000);
// A year: a longer pause is a mistake.
constexpr double kPauseMax = 366.0 * 86'400;

Status Damaged(const std::string& key) {
  return {StatusCode::kDataLoss, fmt::format("store: record {} can't be read", key)};
}

template <class IdType>
bool ParseId(std::string_view text, IdType* id) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  *id = IdType(number);
  return true;
}

std::string Text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::vector<store::Change> Difference(const std::map<std::string, std::string>& from,
                                      const std::map<std::string, std::string>& to) {
  std::vector<store::Change> changes;
  for (const auto& [key, value] : to) {
    const auto before = from.find(key);
    if (before == from.end() || before->second != value) changes.push_back({key, value});
  }
  for (const auto& [key, value] : from) {
    if (!to.contains(key)) changes.push_back({key, std::nullopt});
  }
  return changes;
}

}  // namespace

Status LiveSteeringOptions::Validate(bool has_scheduler) const {
  FL_RETURN_IF_ERROR(steering.Validate());
  if (has_scheduler && !hook.command.empty()) {
    return InvalidArgument(
        "--hook and --engine slurm: only one of them can carry out actions; leave the other one out");
  }
  if (steering.mode == SteeringMode::kAct && hook.command.empty() && !has_scheduler) {
    return InvalidArgument(
        "--steer act needs a program that carries actions out: name it by --hook, or use --engine slurm");
  }
  const auto reaches = [](SimDuration attempt, std::chrono::milliseconds program) {
    return attempt >= SimDuration(std::chrono::nanoseconds(program).count());
  };
  const controller::AttemptOptions& attempts = steering.attempts;
  if (hook.deadline.count() <= 0 || hook.long_deadline.count() <= 0 || hook.num_workers < 1) {
    return InvalidArgument("hook: expected deadlines above 0 and at least one worker");
  }
  if (!reaches(attempts.deadline, hook.deadline + hook.grace) ||
      !reaches(std::min(attempts.restart_deadline, attempts.test_deadline), hook.long_deadline + hook.grace)) {
    return InvalidArgument("hook: its deadlines must be shorter than those of the attempts that it carries out");
  }
  return OkStatus();
}

std::vector<SteeringEvent> LiveSteering::Gate::TakeOutcomes(SimTime now) {
  std::vector<SteeringEvent> outcomes = owner_->backend_->TakeOutcomes(now);
  if (!outcomes.empty()) owner_->has_outcomes_ = true;
  return outcomes;
}

LiveSteering::LiveSteering(SimTime now, const LiveSteeringOptions& options, std::vector<std::string> host_names,
                           SteeringSurroundings surroundings)
    : options_(options),
      host_names_(std::move(host_names)),
      started_(now),
      store_(surroundings.store),
      surroundings_(std::move(surroundings)),
      steering_(options.steering, static_cast<uint32_t>(host_names_.size())),
      backend_(std::move(surroundings_.backend)),
      gate_(this),
      dispatcher_(&steering_, &gate_, [this](const AuditEntry& entry) { entries_.push_back(entry); }),
      now_(now) {
  names_.host = [this](HostId host) {
    return host.index() < host_names_.size() ? host_names_[host.index()] : std::string();
  };
  names_.job = [this](JobId job) {
    const auto found = job_names_.find(job);
    return found == job_names_.end() ? std::string() : found->second;
  };
  if (backend_ == nullptr && surroundings_.make_backend) backend_ = surroundings_.make_backend(names_);
  if (backend_ != nullptr) return;
  if (options_.hook.command.empty()) {
    backend_ = std::make_unique<controller::DryRun>();
  } else {
    backend_ = std::make_unique<HookWorkers>(
        options_.hook, [this](const SteeringAction& action) { return HookInput(action, names_); });
  }
}

LiveSteering::~LiveSteering() = default;

Result<std::unique_ptr<LiveSteering>> LiveSteering::Start(SimTime now, const LiveSteeringOptions& options,
                                                          std::vector<std::string> host_names,
                                                          SteeringSurroundings surroundings) {
  if (surroundings.backend == nullptr) {
    FL_RETURN_IF_ERROR(options.Validate(static_cast<bool>(surroundings.make_backend)));
  }
  std::unique_ptr<LiveSteering> steering(
      new LiveSteering(now, options, std::move(host_names), std::move(surroundings)));
  for (const std::string& name : options.spares) {
    FL_ASSIGN_OR_RETURN(const HostId host, steering->FindHost(name));
    steering->spares_.insert(host);
  }
  FL_RETURN_IF_ERROR(steering->Restore(now));
  return steering;
}

Status LiveSteering::Restore(SimTime now) {
  FL_ASSIGN_OR_RETURN(const auto records, store_->List(kPrefix));
  std::vector<std::pair<std::string, std::string>> state;
  for (const auto& [key, value] : records) {
    kept_[key] = value;
    const std::string_view view = key;
    if (view.starts_with(kStatePrefix)) {
      state.emplace_back(view.substr(kStatePrefix.size()), value);
    } else if (view.starts_with(kNamePrefix)) {
      JobId job;
      if (!ParseId(view.substr(kNamePrefix.size()), &job)) return Damaged(key);
      job_names_[job] = value;
    } else if (view == kLastFindingKey) {
      if (!ParseId(value, &last_finding_)) return Damaged(key);
    } else if (view == kReportedKey) {
      const Json lines = Json::parse(value, nullptr, false);
      if (!lines.is_array()) return Damaged(key);
      batch_.lines.assign(lines.begin(), lines.end());
    }
  }
  FL_ASSIGN_OR_RETURN(const auto forgotten, steering_.Restore(state, host_names_));
  for (const std::string& what : forgotten) Note(now, {Noted::Severity::kWarning, "steering", what});
  for (const JobId job : steering_.Jobs()) unseen_.insert(job);
  unexcused_ = unseen_;
  BeginAgain(now);
  UpdateView();
  return OkStatus();
}

void LiveSteering::BeginAgain(SimTime now) {
  const std::vector<SteeringAction> open = steering_.Resume(now);
  Json line = {{"at_s", now.seconds().value()},
               {"kind", "start"},
               {"mode", controller::Name(options_.steering.mode)},
               {"isolated", Json::array()},
               {"begins_again", Json::array()}};
  for (const HostId host : steering_.isolated()) line["isolated"].push_back(names_.Of(host));
  if (options_.steering.mode == SteeringMode::kAct) {
    batch_.begun = open;
    for (const SteeringAction& action : open) {
      line["begins_again"].push_back(action.number);
      descriptions_[action.number] = controller::Describe(action.step, names_);
    }
  }
  batch_.lines.push_back(std::move(line));
  batch_.is_made = true;
  if (options_.steering.mode == SteeringMode::kAct) return;
  const std::string why =
      fmt::format("the controller was started again in mode {}", controller::Name(options_.steering.mode));
  for (SteeringAction& action : steering_.Abandon(now, why)) AddEntry({now, std::move(action)});
}

void LiveSteering::AddEntry(AuditEntry entry) {
  if (const auto* action = std::get_if<SteeringAction>(&entry.what)) {
    descriptions_[action->number] = controller::Describe(action->step, names_);
  }
  batch_.lines.push_back(LineOf(entry));
  batch_.news.push_back(std::move(entry));
}

Json LiveSteering::LineOf(const AuditEntry& entry) const {
  Json line = service::ToJson(entry);
  if (const auto* action = std::get_if<SteeringAction>(&entry.what)) {
    AddNames(*action, names_, &line);
  } else if (line.contains("host")) {
    line["host_name"] = report::NameOrNull(names_.host(HostId(line["host"].get<uint32_t>())));
  }
  return line;
}

void LiveSteering::Handle(SimTime now, std::span<const SteeringEvent> events) {
  {
    const std::lock_guard lock(mutex_);
    now_ = now;
    waiting_.insert(waiting_.end(), orders_.begin(), orders_.end());
    orders_.clear();
    num_waiting_orders_ = num_orders_given_;
  }
  for (SteeringEvent event : events) {
    Learn(&event);
    waiting_.push_back(std::move(event));
  }
  if (!batch_.is_made || CarryOut(now)) {
    MakeBatch(now);
    if (batch_.is_made ? CarryOut(now) : now >= next_view_) UpdateView();
  }
  RenewExcuses(now);
}

void LiveSteering::Learn(SteeringEvent* event) {
  if (auto* running = std::get_if<controller::JobRunning>(event)) {
    std::string name = surroundings_.job_name ? surroundings_.job_name(running->job) : "";
    if (!name.empty()) job_names_[running->job] = std::move(name);
    // A diagnosis that has begun with this process sees every job for the first time.
    const bool is_known = unseen_.erase(running->job) > 0;
    if (is_known && steering_.HostsOf(running->job) == running->hosts) running->is_new_run = false;
  }
  if (const auto* gone = std::get_if<controller::JobGone>(event)) unseen_.erase(gone->job);
  if (const auto* reported = std::get_if<controller::FindingReported>(event)) {
    if (!last_finding_.valid() || reported->finding.id > last_finding_) last_finding_ = reported->finding.id;
  }
}

void LiveSteering::MakeBatch(SimTime now) {
  // Spares first: what was found at the same time may need them.
  std::vector<SteeringEvent> events = OwnEvents(now);
  events.insert(events.end(), waiting_.begin(), waiting_.end());
  waiting_.clear();
  const bool was_due = steering_.NextDue() <= now;
  has_outcomes_ = false;
  batch_ = {};
  batch_.num_orders = num_waiting_orders_;
  dispatcher_.Handle(now, events);
  for (AuditEntry& entry : std::exchange(entries_, {})) AddEntry(std::move(entry));
  ForgetJobs(now);
  batch_.is_made = !events.empty() || !batch_.lines.empty() || has_outcomes_ || was_due;
}

std::vector<SteeringEvent> LiveSteering::OwnEvents(SimTime now) {
  std::vector<SteeringEvent> events;
  for (const HostId spare : spares_) {
    if (steering_.ConditionOf(spare) == HostCondition::kUnknown) events.emplace_back(controller::SpareOffered{spare});
  }
  if (now < started_ + options_.unseen_for) return events;
  std::erase_if(unseen_, [&](JobId job) {
    if (steering_.IsBusy(job)) return false;
    events.emplace_back(controller::JobGone{job});
    return true;
  });
  return events;
}

void LiveSteering::ForgetJobs(SimTime now) {
  std::erase_if(job_names_, [&](const auto& entry) {
    const JobId job = entry.first;
    const auto& open = steering_.attempts().open();
    return !steering_.ConditionOf(job) && steering_.NumIsolatedSince(now - kDay, job) == 0 &&
           std::none_of(open.begin(), open.end(), [&](const auto& one) { return one.second.action.job == job; });
  });
}

LiveSteering::Records LiveSteering::RecordsNow() const {
  Records records;
  for (auto& [key, value] : steering_.Records(host_names_)) {
    records[fmt::format("{}{}", kStatePrefix, key)] = std::move(value);
  }
  for (const auto& [job, name] : job_names_) records[fmt::format("{}{}", kNamePrefix, job.value())] = name;
  if (last_finding_.valid()) records[kLastFindingKey] = std::to_string(last_finding_.value());
  return records;
}

bool LiveSteering::CarryOut(SimTime now) {
  Status status = batch_.is_kept ? OkStatus() : Keep();
  if (status.ok()) status = WriteLines();
  SetStatus(now, status);
  if (!status.ok()) return false;
  for (const AuditEntry& entry : batch_.news) TellPeople(now, entry);
  for (const SteeringAction& action : batch_.begun) {
    ++begun_[std::string(controller::Name(action.step))];
    backend_->Begin(now, action);
  }
  // Left where it is, the lines are written once more after a death.
  const store::Change forget = {kReportedKey, std::nullopt};
  if (kept_.contains(kReportedKey) && store_->Apply({&forget, 1}).ok()) kept_.erase(kReportedKey);
  const uint64_t num_orders = batch_.num_orders;
  batch_ = {};
  {
    const std::lock_guard lock(mutex_);
    num_orders_kept_ = std::max(num_orders_kept_, num_orders);
  }
  handled_.notify_all();
  return true;
}

void LiveSteering::SetStatus(SimTime now, const Status& status) {
  Status before;
  {
    const std::lock_guard lock(mutex_);
    before = std::exchange(status_, status);
  }
  if (before.ok() == status.ok()) return;
  Note(now, status.ok() ? Noted{Noted::Severity::kInfo, "steering", "goes on"}
                        : Noted{Noted::Severity::kWarning, "steering",
                                "begins nothing until this works again: " + status.message()});
}

Status LiveSteering::Keep() {
  Records records = RecordsNow();
  if (!batch_.lines.empty() && surroundings_.audit) records[kReportedKey] = Text(batch_.lines);
  const std::vector<store::Change> changes = Difference(kept_, records);
  if (!changes.empty()) FL_RETURN_IF_ERROR(store_->Apply(changes));
  kept_ = std::move(records);
  batch_.is_kept = true;
  return OkStatus();
}

Status LiveSteering::WriteLines() {
  for (; batch_.num_lines_written < batch_.lines.size(); ++batch_.num_lines_written) {
    const Json& line = batch_.lines[batch_.num_lines_written];
    if (surroundings_.audit) FL_RETURN_IF_ERROR(surroundings_.audit(line));
    shown_.push_back(line);
    if (shown_.size() > options_.num_shown) shown_.pop_front();
  }
  return OkStatus();
}

void LiveSteering::Note(SimTime now, const Noted& note) const {
  if (surroundings_.note) surroundings_.note(now, note);
}

void LiveSteering::TellPeople(SimTime now, const AuditEntry& entry) {
  using Severity = Noted::Severity;
  if (const auto* action = std::get_if<SteeringAction>(&entry.what)) {
    if (const auto* excuse = std::get_if<controller::ExcuseJob>(&action->step)) {
      if (surroundings_.excuse) surroundings_.excuse(excuse->job, excuse->until);
      unexcused_.erase(excuse->job);
      return;
    }
    const bool is_urgent = std::holds_alternative<controller::AskOperator>(action->step) ||
                           std::holds_alternative<controller::IsolateHost>(action->step);
    const std::string subject = action->job.valid() ? "job " + names_.Of(action->job) : std::string("steering");
    return Note(now, {is_urgent ? Severity::kWarning : Severity::kInfo, subject,
                      descriptions_[action->number] + ": " + action->reason});
  }
  const SteeringEvent& event = std::get<SteeringEvent>(entry.what);
  if (const auto* done = std::get_if<controller::StepDone>(&event)) {
    const auto description = descriptions_.find(done->action);
    const std::string what =
        description == descriptions_.end() ? fmt::format("action {}", done->action) : description->second;
    const std::string message = done->message.empty() ? "" : ": " + done->message;
    Note(now, {done->succeeded ? Severity::kInfo : Severity::kWarning, "steering",
               fmt::format("{} {}{}", what, done->succeeded ? "is done" : "failed", message)});
  }
  if (const auto* tested = std::get_if<controller::HostTested>(&event)) {
    Note(now, {tested->is_healthy ? Severity::kInfo : Severity::kWarning, "host " + names_.Of(tested->host),
               tested->is_healthy ? "passed its tests" : "failed its tests, and stays isolated"});
  }
}

void LiveSteering::RenewExcuses(SimTime now) {
  // A diagnosis that has begun with this process learns of jobs one after the other.
  if (!surroundings_.excuse || now >= started_ + options_.unseen_for) return;
  for (const JobId job : unexcused_) {
    if (steering_.IsStopped(job)) {
      surroundings_.excuse(job, SimTime::Never());
    } else if (steering_.PausedUntil(job) > now) {
      surroundings_.excuse(job, steering_.PausedUntil(job));
    }
  }
}

// ---- For people ----

Json LiveSteering::HostsJson() const {
  Json hosts = Json::array();
  for (const HostId host : steering_.MarkedHosts()) {
    hosts.push_back({{"name", names_.Of(host)}, {"condition", controller::Name(steering_.ConditionOf(host))}});
  }
  return hosts;
}

Json LiveSteering::JobsJson() const {
  Json jobs = Json::array();
  for (const JobId job : steering_.Jobs()) {
    Json hosts = Json::array();
    for (const HostId host : steering_.HostsOf(job)) hosts.push_back(names_.Of(host));
    const SimTime paused_until = steering_.PausedUntil(job);
    jobs.push_back({{"name", names_.Of(job)},
                    {"condition", controller::Name(*steering_.ConditionOf(job))},
                    {"hosts", std::move(hosts)},
                    {"paused_until_s", paused_until > now_ ? Json(paused_until.seconds().value()) : Json()},
                    {"isolated_last_day", steering_.NumIsolatedSince(now_ - kDay, job)}});
  }
  return jobs;
}

Json LiveSteering::OpenActionsJson() const {
  Json actions = Json::array();
  for (const auto& [number, open] : steering_.attempts().open()) {
    actions.push_back({{"action", number},
                       {"attempt", open.action.attempt},
                       {"description", controller::Describe(open.action.step, names_)},
                       {"waits_for", open.is_sent ? "answer" : "next attempt"},
                       {"until_s", open.due.seconds().value()}});
  }
  return actions;
}

void LiveSteering::UpdateView() {
  next_view_ = now_ + kViewPeriod;
  // Open actions alone are described from here on.
  std::erase_if(descriptions_, [&](const auto& entry) { return steering_.attempts().Find(entry.first) == nullptr; });
  Json isolated = Json::array();
  for (const HostId host : steering_.isolated()) isolated.push_back(names_.Of(host));
  Json view = {{"mode", controller::Name(options_.steering.mode)},
               {"back_end", backend_->name()},
               {"isolated", std::move(isolated)},
               {"hosts", HostsJson()},
               {"jobs", JobsJson()},
               {"open_actions", OpenActionsJson()},
               {"log", shown_}};
  SteeringNumbers numbers = {.hosts = {}, .jobs = {}, .begun = begun_, .is_ok = true};
  std::map<HostId, HostCondition> conditions;
  for (const HostId host : steering_.MarkedHosts()) {
    conditions[host] = steering_.ConditionOf(host);
    ++numbers.hosts[conditions[host]];
  }
  std::map<std::string, JobId> jobs;
  for (const JobId job : steering_.Jobs()) {
    jobs[names_.Of(job)] = job;
    ++numbers.jobs[*steering_.ConditionOf(job)];
  }
  const std::lock_guard lock(mutex_);
  view_ = std::move(view);
  conditions_ = std::move(conditions);
  running_jobs_ = std::move(jobs);
  numbers_ = std::move(numbers);
}

Json LiveSteering::ToJson() const {
  const std::lock_guard lock(mutex_);
  Json json = view_;
  json["error"] = status_.ok() ? Json() : Json(status_.message());
  return json;
}

SteeringNumbers LiveSteering::numbers() const {
  const std::lock_guard lock(mutex_);
  SteeringNumbers numbers = numbers_;
  numbers.is_ok = status_.ok();
  return numbers;
}

Status LiveSteering::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

// ---- Orders of operators ----

Result<HostId> LiveSteering::FindHost(const std::string& name) const {
  const auto found = std::find(host_names_.begin(), host_names_.end(), name);
  if (found == host_names_.end()) return NotFound(fmt::format("no host '{}' in the fabric", name));
  return HostId(static_cast<size_t>(found - host_names_.begin()));
}

HostCondition LiveSteering::ShownCondition(HostId host) const {
  const std::lock_guard lock(mutex_);
  const auto found = conditions_.find(host);
  return found == conditions_.end() ? HostCondition::kUnknown : found->second;
}

Result<Json> LiveSteering::UndoIsolation(const std::string& host, const std::string& who) {
  FL_ASSIGN_OR_RETURN(const HostId id, FindHost(host));
  const HostCondition condition = ShownCondition(id);
  if (condition == HostCondition::kIsolating) {
    return Unavailable(fmt::format("host {} is being isolated: take it back when that is done", host));
  }
  if (condition != HostCondition::kIsolated) return InvalidArgument(fmt::format("host {} is not isolated", host));
  return Order(controller::IsolationUndone{id}, {"undo isolation", who, {{"host", host}}});
}

Result<Json> LiveSteering::OfferSpare(const std::string& host, const std::string& who) {
  FL_ASSIGN_OR_RETURN(const HostId id, FindHost(host));
  const HostCondition condition = ShownCondition(id);
  if (condition == HostCondition::kIsolating || condition == HostCondition::kIsolated) {
    return InvalidArgument(fmt::format("host {} is isolated: take that back first", host));
  }
  return Order(controller::SpareOffered{id}, {"offer spare", who, {{"host", host}}});
}

Result<JobId> LiveSteering::FindRunning(const std::string& job) const {
  if (const auto found = running_jobs_.find(job); found != running_jobs_.end()) return found->second;
  std::vector<std::string> of_that_name;
  for (const auto& [key, id] : running_jobs_) {
    const auto identity = model::ParseJobKey(key);
    if (identity.has_value() && identity->name == job) of_that_name.push_back(key);
  }
  if (of_that_name.empty()) return NotFound(fmt::format("no job '{}' runs under the diagnosis", job));
  if (of_that_name.size() == 1) return running_jobs_.at(of_that_name.front());
  return InvalidArgument(
      fmt::format("several jobs are called '{}': give one of {}", job, fmt::join(of_that_name, ", ")));
}

Result<Json> LiveSteering::AnnouncePause(const std::string& job, double seconds, const std::string& reason,
                                         const std::string& who) {
  if (!(seconds >= 0 && seconds <= kPauseMax)) {
    return InvalidArgument(fmt::format("for_s: expected 0 to {:.0f}, found {}", kPauseMax, seconds));
  }
  controller::PauseAnnounced pause;
  {
    const std::lock_guard lock(mutex_);
    FL_ASSIGN_OR_RETURN(const JobId id, FindRunning(job));
    pause = {id, now_ + SimDuration::FromSeconds(Seconds(seconds)), reason};
  }
  return Order(pause,
               {"announce pause",
                who,
                {{"job", job}, {"for_s", seconds}, {"until_s", pause.until.seconds().value()}, {"reason", reason}}});
}

Result<Json> LiveSteering::Order(SteeringEvent event, const OrderText& text) {
  SimTime now;
  {
    const std::lock_guard lock(mutex_);
    now = now_;
  }
  Json line = {{"at_s", now.seconds().value()}, {"kind", "operator"}, {"who", text.who}, {"action", text.action}};
  line.update(text.about);
  if (surroundings_.audit) FL_RETURN_IF_ERROR(surroundings_.audit(line));
  Note(now, {Noted::Severity::kInfo, "steering",
             fmt::format("operator at {}: {} {}", text.who, text.action, Text(text.about))});
  std::unique_lock lock(mutex_);
  orders_.push_back(std::move(event));
  const uint64_t number = ++num_orders_given_;
  const bool is_kept = handled_.wait_for(lock, options_.order_patience, [&] { return num_orders_kept_ >= number; });
  if (is_kept) return text.about;
  return Unavailable(status_.ok() ? std::string("the diagnosis does not take orders now; try again")
                                  : "not saved yet, and carried out as soon as it is: " + status_.message());
}

}  // namespace fairlead::service
