#include "service/steering/live_steering.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
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

constexpr char kReportedKey[] = "steering/told";
constexpr SimDuration kDay(86'400'000'000'000);
// What time alone changes of the view (pauses, the last day) is seen then.
constexpr SimDuration kViewPeriod(5'000'000'000);
// A year: a longer pause is a mistake.
constexpr double kPauseMax = 366.0 * 86'400;

Status Damaged(const std::string& key) {
  return {StatusCode::kDataLoss, fmt::format("store: record {} can't be read", key)};
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

Result<HostId> FindHost(std::span<const std::string> host_names, const std::string& name) {
  const auto found = std::ranges::find(host_names, name);
  if (found == host_names.end()) return NotFound(fmt::format("no host '{}' in the fabric", name));
  return HostId(static_cast<size_t>(found - host_names.begin()));
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

LiveSteering::LiveSteering(SimTime now, const LiveSteeringOptions& options, SteeringSurroundings surroundings)
    : options_(options),
      store_(surroundings.store),
      surroundings_(std::move(surroundings)),
      backend_(std::move(surroundings_.backend)),
      now_(now) {}

LiveSteering::~LiveSteering() = default;

Result<std::unique_ptr<LiveSteering>> LiveSteering::Start(SimTime now, const LiveSteeringOptions& options,
                                                          std::vector<std::string> host_names,
                                                          SteeringSurroundings surroundings) {
  if (surroundings.backend == nullptr) {
    FL_RETURN_IF_ERROR(options.Validate(static_cast<bool>(surroundings.make_backend)));
  }
  std::unique_ptr<LiveSteering> steering(new LiveSteering(now, options, std::move(surroundings)));
  FL_RETURN_IF_ERROR(steering->GoOn(now, std::move(host_names)));
  return steering;
}

Status LiveSteering::GoOn(SimTime now, std::vector<std::string> host_names) {
  controller::KeptSteeringOptions options = {
      .steering = options_.steering, .spares = {}, .unseen_for = options_.unseen_for};
  for (const std::string& name : options_.spares) {
    FL_ASSIGN_OR_RETURN(const HostId host, FindHost(host_names, name));
    options.spares.insert(host);
  }
  kept_ = std::make_unique<controller::KeptSteering>(
      now, options, std::move(host_names),
      controller::KeptSteering::Surroundings{.take_outcomes = [this](SimTime at) { return backend_->TakeOutcomes(at); },
                                             .entry = [this](const AuditEntry& entry) { AddEntry(entry); },
                                             .job_name = surroundings_.job_name});
  if (backend_ == nullptr && surroundings_.make_backend) backend_ = surroundings_.make_backend(names());
  if (backend_ == nullptr && options_.hook.command.empty()) backend_ = std::make_unique<controller::DryRun>();
  if (backend_ == nullptr) {
    backend_ = std::make_unique<HookWorkers>(
        options_.hook, [this](const SteeringAction& action) { return HookInput(action, names()); });
  }
  FL_ASSIGN_OR_RETURN(const auto records, store_->List(controller::KeptSteering::kPrefix));
  for (const auto& [key, value] : records) stored_[key] = value;
  if (const auto lines = stored_.find(kReportedKey); lines != stored_.end()) {
    const Json parsed = Json::parse(lines->second, nullptr, false);
    if (!parsed.is_array()) return Damaged(kReportedKey);
    batch_.lines.assign(parsed.begin(), parsed.end());
  }
  FL_ASSIGN_OR_RETURN(controller::KeptSteering::Start start, kept_->Restore(now, stored_));
  for (const std::string& what : start.forgotten) Note(now, {Noted::Severity::kWarning, "steering", what});
  BeginAgain(now, std::move(start));
  UpdateView();
  return OkStatus();
}

void LiveSteering::BeginAgain(SimTime now, controller::KeptSteering::Start start) {
  Json line = {{"at_s", now.seconds().value()},
               {"kind", "start"},
               {"mode", controller::Name(options_.steering.mode)},
               {"isolated", Json::array()},
               {"begins_again", Json::array()}};
  for (const HostId host : steering().isolated()) line["isolated"].push_back(names().Of(host));
  for (const SteeringAction& action : start.begun) {
    line["begins_again"].push_back(action.number);
    descriptions_[action.number] = controller::Describe(action.step, names());
  }
  batch_.begun = std::move(start.begun);
  batch_.lines.push_back(std::move(line));
  batch_.is_made = true;
  for (SteeringAction& action : start.given_up) AddEntry({now, std::move(action)});
}

void LiveSteering::AddEntry(AuditEntry entry) {
  if (const auto* action = std::get_if<SteeringAction>(&entry.what)) {
    descriptions_[action->number] = controller::Describe(action->step, names());
  }
  batch_.lines.push_back(LineOf(entry));
  batch_.news.push_back(std::move(entry));
}

Json LiveSteering::LineOf(const AuditEntry& entry) const {
  Json line = service::ToJson(entry);
  if (const auto* action = std::get_if<SteeringAction>(&entry.what)) {
    AddNames(*action, names(), &line);
  } else if (line.contains("host")) {
    line["host_name"] = report::NameOrNull(names().host(HostId(line["host"].get<uint32_t>())));
  }
  return line;
}

void LiveSteering::Handle(SimTime now, std::span<const SteeringEvent> events) {
  {
    const std::lock_guard lock(mutex_);
    now_ = now;
    for (SteeringEvent& order : std::exchange(orders_, {})) kept_->Take(std::move(order));
    num_waiting_orders_ = num_orders_given_;
  }
  for (const SteeringEvent& event : events) kept_->Take(event);
  if (!batch_.is_made || CarryOut(now)) {
    MakeBatch(now);
    if (batch_.is_made ? CarryOut(now) : now >= next_view_) UpdateView();
  }
  RenewExcuses(now);
}

void LiveSteering::MakeBatch(SimTime now) {
  batch_ = {};
  batch_.num_orders = num_waiting_orders_;
  controller::KeptSteering::Batch made = kept_->MakeBatch(now);
  batch_.is_made = made.is_made;
  batch_.begun = std::move(made.begun);
}

bool LiveSteering::CarryOut(SimTime now) {
  Status status = batch_.is_kept ? OkStatus() : Keep();
  if (status.ok()) status = WriteLines();
  SetStatus(now, status);
  if (!status.ok()) return false;
  for (const AuditEntry& entry : batch_.news) TellPeople(now, entry);
  for (const SteeringAction& action : batch_.begun) {
    ++begun_[std::string(controller::Name(action.step))];
    kept_->NoteBegun(now, action);
    backend_->Begin(now, action);
  }
  // Left where it is, the lines are written once more after a death.
  const store::Change forget = {kReportedKey, std::nullopt};
  if (stored_.contains(kReportedKey) && store_->Apply({&forget, 1}).ok()) stored_.erase(kReportedKey);
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
  Records records = kept_->ToRecords();
  if (!batch_.lines.empty() && surroundings_.audit) records[kReportedKey] = Text(batch_.lines);
  const std::vector<store::Change> changes = Difference(stored_, records);
  if (!changes.empty()) FL_RETURN_IF_ERROR(store_->Apply(changes));
  stored_ = std::move(records);
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
      kept_->NoteExcused(excuse->job);
      return;
    }
    const bool is_urgent = std::holds_alternative<controller::AskOperator>(action->step) ||
                           std::holds_alternative<controller::IsolateHost>(action->step);
    const std::string subject = action->job.valid() ? "job " + names().Of(action->job) : std::string("steering");
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
    Note(now, {tested->is_healthy ? Severity::kInfo : Severity::kWarning, "host " + names().Of(tested->host),
               tested->is_healthy ? "passed its tests" : "failed its tests, and stays isolated"});
  }
}

void LiveSteering::RenewExcuses(SimTime now) {
  if (!surroundings_.excuse) return;
  for (const auto& [job, until] : kept_->ExcusesToRenew(now)) surroundings_.excuse(job, until);
}

// ---- For people ----

Json LiveSteering::HostsJson() const {
  Json hosts = Json::array();
  for (const HostId host : steering().MarkedHosts()) {
    hosts.push_back({{"name", names().Of(host)}, {"condition", controller::Name(steering().ConditionOf(host))}});
  }
  return hosts;
}

Json LiveSteering::JobsJson() const {
  Json jobs = Json::array();
  for (const JobId job : steering().Jobs()) {
    Json hosts = Json::array();
    for (const HostId host : steering().HostsOf(job)) hosts.push_back(names().Of(host));
    const SimTime paused_until = steering().PausedUntil(job);
    jobs.push_back({{"name", names().Of(job)},
                    {"condition", controller::Name(*steering().ConditionOf(job))},
                    {"hosts", std::move(hosts)},
                    {"paused_until_s", paused_until > now_ ? Json(paused_until.seconds().value()) : Json()},
                    {"isolated_last_day", steering().NumIsolatedSince(now_ - kDay, job)}});
  }
  return jobs;
}

Json LiveSteering::OpenActionsJson() const {
  Json actions = Json::array();
  for (const auto& [number, open] : steering().attempts().open()) {
    actions.push_back({{"action", number},
                       {"attempt", open.action.attempt},
                       {"description", controller::Describe(open.action.step, names())},
                       {"waits_for", open.is_sent ? "answer" : "next attempt"},
                       {"until_s", open.due.seconds().value()}});
  }
  return actions;
}

void LiveSteering::UpdateView() {
  next_view_ = now_ + kViewPeriod;
  // Open actions alone are described from here on.
  std::erase_if(descriptions_, [&](const auto& entry) { return steering().attempts().Find(entry.first) == nullptr; });
  Json isolated = Json::array();
  for (const HostId host : steering().isolated()) isolated.push_back(names().Of(host));
  Json view = {{"mode", controller::Name(options_.steering.mode)},
               {"back_end", backend_->name()},
               {"isolated", std::move(isolated)},
               {"hosts", HostsJson()},
               {"jobs", JobsJson()},
               {"open_actions", OpenActionsJson()},
               {"log", shown_}};
  SteeringNumbers numbers = {.hosts = {}, .jobs = {}, .begun = begun_, .is_ok = true};
  std::map<HostId, HostCondition> conditions;
  for (const HostId host : steering().MarkedHosts()) {
    conditions[host] = steering().ConditionOf(host);
    ++numbers.hosts[conditions[host]];
  }
  std::map<std::string, JobId> jobs;
  for (const JobId job : steering().Jobs()) {
    jobs[names().Of(job)] = job;
    ++numbers.jobs[*steering().ConditionOf(job)];
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

HostCondition LiveSteering::ShownCondition(HostId host) const {
  const std::lock_guard lock(mutex_);
  const auto found = conditions_.find(host);
  return found == conditions_.end() ? HostCondition::kUnknown : found->second;
}

Result<Json> LiveSteering::UndoIsolation(const std::string& host, const std::string& who) {
  FL_ASSIGN_OR_RETURN(const HostId id, FindHost(kept_->host_names(), host));
  const HostCondition condition = ShownCondition(id);
  if (condition == HostCondition::kIsolating) {
    return Unavailable(fmt::format("host {} is being isolated: take it back when that is done", host));
  }
  if (condition != HostCondition::kIsolated) return InvalidArgument(fmt::format("host {} is not isolated", host));
  return Order(controller::IsolationUndone{id}, {"undo isolation", who, {{"host", host}}});
}

Result<Json> LiveSteering::OfferSpare(const std::string& host, const std::string& who) {
  FL_ASSIGN_OR_RETURN(const HostId id, FindHost(kept_->host_names(), host));
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
