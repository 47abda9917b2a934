#include "service/steering/live_steering.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "service/steering/action_json.h"
#include "service/steering/hook_message.h"

namespace fairlead::service {
namespace {

using controller::AuditEntry;
using controller::Noted;
using controller::SteeringAction;
using controller::SteeringEvent;
using controller::SteeringMode;
using report::Json;

constexpr char kReportedKey[] = "steering/told";
// What time alone changes of what is shown (pauses, the last day) is seen then.
constexpr SimDuration kShowPeriod(5'000'000'000);

Json LineOf(const AuditEntry& entry, const controller::SteeringNames& names) {
  Json line = ToJson(entry);
  if (const auto* action = std::get_if<SteeringAction>(&entry.what)) {
    AddNames(*action, names, &line);
  } else if (line.contains("host")) {
    line["host_name"] = report::NameOrNull(names.host(HostId(line["host"].get<uint32_t>())));
  }
  return line;
}

// Whoever carries actions out: one that was handed in, the operator's program, or nobody.
std::unique_ptr<controller::ActionBackend> MakeBackend(const LiveSteeringOptions& options,
                                                       const controller::SteeringNames& names,
                                                       SteeringSurroundings* surroundings) {
  std::unique_ptr<controller::ActionBackend> backend = std::move(surroundings->backend);
  if (backend == nullptr && surroundings->make_backend) backend = surroundings->make_backend(names);
  if (backend == nullptr && options.hook.command.empty()) return std::make_unique<controller::DryRun>();
  if (backend == nullptr) {
    backend = std::make_unique<HookWorkers>(
        options.hook, [&names](const SteeringAction& action) { return HookInput(action, names); });
  }
  if (!options.checked_return || !surroundings->checks) return backend;
  return std::make_unique<controller::CheckedReturn>(*options.checked_return, *surroundings->checks,
                                                     std::move(backend));
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
  if (checked_return) {
    FL_RETURN_IF_ERROR(checked_return->Validate());
    if (attempts.test_deadline <= checked_return->LongestTest()) {
      return InvalidArgument("checked_return: its longest test must be shorter than an attempt at one");
    }
  }
  return OkStatus();
}

LiveSteering::LiveSteering(SimTime now, const LiveSteeringOptions& options, const controller::KeptSteeringOptions& kept,
                           std::vector<std::string> host_names, SteeringSurroundings surroundings)
    : options_(options),
      surroundings_(std::move(surroundings)),
      kept_(now, kept, std::move(host_names),
            {.take_outcomes = [this](SimTime at) { return backend_->TakeOutcomes(at); },
             .entry = [this](const AuditEntry& entry) { AddEntry(entry); },
             .job_name = surroundings_.job_name}),
      backend_(MakeBackend(options, kept_.names(), &surroundings_)),
      stored_(surroundings_.store),
      lines_(surroundings_.audit, options.num_shown),
      news_(&kept_.names()),
      shown_(now, options.steering.mode, std::string(backend_->name())),
      orders_(&shown_, &kept_.host_names(),
              {.patience = options.order_patience, .audit = surroundings_.audit, .note = surroundings_.note}) {}

LiveSteering::~LiveSteering() = default;

Result<std::unique_ptr<LiveSteering>> LiveSteering::Start(SimTime now, const LiveSteeringOptions& options,
                                                          std::vector<std::string> host_names,
                                                          SteeringSurroundings surroundings) {
  if (surroundings.backend == nullptr) {
    FL_RETURN_IF_ERROR(options.Validate(static_cast<bool>(surroundings.make_backend)));
  }
  controller::KeptSteeringOptions kept = {.steering = options.steering, .spares = {}, .unseen_for = options.unseen_for};
  for (const std::string& name : options.spares) {
    FL_ASSIGN_OR_RETURN(const HostId host, FindHost(host_names, name));
    kept.spares.insert(host);
  }
  std::unique_ptr<LiveSteering> steering(
      new LiveSteering(now, options, kept, std::move(host_names), std::move(surroundings)));
  FL_RETURN_IF_ERROR(steering->GoOn(now));
  return steering;
}

Status LiveSteering::GoOn(SimTime now) {
  FL_RETURN_IF_ERROR(stored_.Load(controller::KeptSteering::kPrefix));
  const auto reported = stored_.records().find(kReportedKey);
  if (reported != stored_.records().end() && !lines_.Restore(reported->second)) {
    return {StatusCode::kDataLoss, fmt::format("store: record {} can't be read", kReportedKey)};
  }
  FL_ASSIGN_OR_RETURN(controller::KeptSteering::Start start, kept_.Restore(now, stored_.records()));
  for (const std::string& what : start.forgotten) Note(now, {Noted::Severity::kWarning, "steering", what});
  BeginAgain(now, std::move(start));
  Show(now);
  return OkStatus();
}

void LiveSteering::BeginAgain(SimTime now, controller::KeptSteering::Start start) {
  Json line = {{"at_s", now.seconds().value()},
               {"kind", "start"},
               {"mode", controller::Name(options_.steering.mode)},
               {"isolated", Json::array()},
               {"begins_again", Json::array()}};
  for (const HostId host : kept_.steering().isolated()) line["isolated"].push_back(kept_.names().Of(host));
  for (const SteeringAction& action : start.begun) {
    line["begins_again"].push_back(action.number);
    news_.Note(action);
  }
  batch_.begun = std::move(start.begun);
  lines_.Add(std::move(line));
  batch_.is_made = true;
  for (SteeringAction& action : start.given_up) AddEntry({now, std::move(action)});
}

void LiveSteering::AddEntry(AuditEntry entry) {
  if (const auto* action = std::get_if<SteeringAction>(&entry.what)) news_.Note(*action);
  lines_.Add(LineOf(entry, kept_.names()));
  batch_.news.push_back(std::move(entry));
}

void LiveSteering::Handle(SimTime now, std::span<const SteeringEvent> events) {
  shown_.SetNow(now);
  for (SteeringEvent& order : orders_.Take()) kept_.Take(std::move(order));
  for (const SteeringEvent& event : events) kept_.Take(event);
  if (!batch_.is_made || CarryOut(now)) {
    MakeBatch(now);
    if (batch_.is_made ? CarryOut(now) : now >= next_show_) Show(now);
  }
  RenewExcuses(now);
}

void LiveSteering::MakeBatch(SimTime now) {
  batch_ = {};
  batch_.num_orders = orders_.num_taken();
  controller::KeptSteering::Batch made = kept_.MakeBatch(now);
  batch_.is_made = made.is_made;
  batch_.begun = std::move(made.begun);
}

bool LiveSteering::CarryOut(SimTime now) {
  Status status = batch_.is_kept ? OkStatus() : Keep();
  if (status.ok()) status = lines_.Write();
  SetStatus(now, status);
  if (!status.ok()) return false;
  for (const AuditEntry& entry : batch_.news) Tell(now, entry);
  for (const SteeringAction& action : batch_.begun) {
    ++begun_[std::string(controller::Name(action.step))];
    kept_.NoteBegun(now, action);
    backend_->Begin(now, action);
  }
  // Left where it is, the lines are written once more after a death.
  stored_.Forget(kReportedKey);
  lines_.EndBatch();
  const uint64_t num_orders = batch_.num_orders;
  batch_ = {};
  orders_.NoteKept(num_orders);
  return true;
}

Status LiveSteering::Keep() {
  StoredRecords::Records records = kept_.ToRecords();
  if (auto lines = lines_.ToRecord()) records[kReportedKey] = *std::move(lines);
  FL_RETURN_IF_ERROR(stored_.Keep(std::move(records)));
  batch_.is_kept = true;
  return OkStatus();
}

void LiveSteering::SetStatus(SimTime now, const Status& status) {
  const Status before = shown_.SetStatus(status);
  if (before.ok() == status.ok()) return;
  Note(now, status.ok() ? Noted{Noted::Severity::kInfo, "steering", "goes on"}
                        : Noted{Noted::Severity::kWarning, "steering",
                                "begins nothing until this works again: " + status.message()});
}

void LiveSteering::Tell(SimTime now, const AuditEntry& entry) {
  const auto* action = std::get_if<SteeringAction>(&entry.what);
  if (const auto* excuse = action == nullptr ? nullptr : std::get_if<controller::ExcuseJob>(&action->step)) {
    if (surroundings_.excuse) surroundings_.excuse(excuse->job, excuse->until);
    kept_.NoteExcused(excuse->job);
  }
  if (const auto text = news_.TextOf(entry)) Note(now, *text);
}

void LiveSteering::Note(SimTime now, const Noted& note) const {
  if (surroundings_.note) surroundings_.note(now, note);
}

void LiveSteering::RenewExcuses(SimTime now) {
  if (!surroundings_.excuse) return;
  for (const auto& [job, until] : kept_.ExcusesToRenew(now)) surroundings_.excuse(job, until);
}

void LiveSteering::Show(SimTime now) {
  next_show_ = now + kShowPeriod;
  // Open actions alone are described from here on.
  news_.KeepOnly(kept_.steering().attempts());
  shown_.Update(kept_, lines_.shown(), begun_);
}

}  // namespace fairlead::service
