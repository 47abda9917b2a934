#include "controller/action_attempts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace fairlead::controller {

namespace {

Status ExpectAtLeast(const char* option, SimDuration found, SimDuration low) {
  if (found >= low) return OkStatus();
  return InvalidArgument(fmt::format("attempts: {}: expected >= {} s, found {} s", option, low.seconds().value(),
                                     found.seconds().value()));
}

}  // namespace

Status AttemptOptions::Validate() const {
  if (attempts < 1) return InvalidArgument("attempts: attempts: expected >= 1, found 0");
  FL_RETURN_IF_ERROR(ExpectAtLeast("deadline", deadline, SimDuration(1)));
  FL_RETURN_IF_ERROR(ExpectAtLeast("restart_deadline", restart_deadline, SimDuration(1)));
  FL_RETURN_IF_ERROR(ExpectAtLeast("test_deadline", test_deadline, SimDuration(1)));
  FL_RETURN_IF_ERROR(ExpectAtLeast("pause", pause, SimDuration(0)));
  return ExpectAtLeast("pause_max", pause_max, pause);
}

SimDuration ActionAttempts::DeadlineOf(const SteeringAction& action) const {
  if (std::holds_alternative<TestHost>(action.step)) return options_.test_deadline;
  return std::holds_alternative<RestartJob>(action.step) ? options_.restart_deadline : options_.deadline;
}

void ActionAttempts::Add(SimTime now, const SteeringAction& action) {
  open_[action.number] = {action, true, now + DeadlineOf(action)};
}

const SteeringAction* ActionAttempts::Find(uint64_t number) const {
  const auto found = open_.find(number);
  return found == open_.end() ? nullptr : &found->second.action;
}

std::optional<ActionAttempts::End> ActionAttempts::Answer(SimTime now, const StepDone& answer) {
  const auto found = open_.find(answer.action);
  if (found == open_.end()) return std::nullopt;
  Open& open = found->second;
  if (!answer.succeeded) {
    const bool is_late = answer.attempt != 0 && answer.attempt != open.action.attempt;
    if (is_late || !open.is_sent) return std::nullopt;
    return Fail(now, answer.action, answer.is_final, answer.message);
  }
  End end{std::move(open.action), true, answer.message};
  open_.erase(found);
  return end;
}

std::optional<ActionAttempts::End> ActionAttempts::Fail(SimTime now, uint64_t number, bool is_final,
                                                        const std::string& message) {
  Open& open = open_.at(number);
  const uint32_t attempt = open.action.attempt;
  if (is_final || attempt >= options_.attempts) {
    std::string text = fmt::format("given up after {} attempt{}: {}", attempt, attempt == 1 ? "" : "s",
                                   message.empty() ? "it failed" : message);
    End end{std::move(open.action), false, std::move(text)};
    open_.erase(number);
    return end;
  }
  open.is_sent = false;
  open.due = now + PauseAfter(attempt);
  return std::nullopt;
}

SimDuration ActionAttempts::PauseAfter(uint32_t attempt) const {
  SimDuration pause = options_.pause;
  for (uint32_t i = 1; i < attempt && pause < options_.pause_max; ++i) pause = pause * 2;
  return std::min(pause, options_.pause_max);
}

std::vector<ActionAttempts::End> ActionAttempts::Advance(SimTime now, std::vector<SteeringAction>* again) {
  std::vector<uint64_t> due;
  for (const auto& [number, open] : open_) {
    if (open.due <= now) due.push_back(number);
  }
  std::vector<End> ends;
  for (const uint64_t number : due) {
    Open& open = open_.at(number);
    if (open.is_sent) {
      const std::string message = fmt::format("no answer in {:.0f} s", DeadlineOf(open.action).seconds().value());
      if (std::optional<End> end = Fail(now, number, false, message)) ends.push_back(std::move(*end));
      continue;
    }
    ++open.action.attempt;
    open.is_sent = true;
    open.due = now + DeadlineOf(open.action);
    again->push_back(open.action);
  }
  return ends;
}

std::vector<SteeringAction> ActionAttempts::BeginAnew(SimTime now) {
  std::vector<SteeringAction> actions;
  for (auto& [number, open] : open_) {
    if (!open.is_sent) {
      // The clock of the process before may have been ahead.
      open.due = std::min(open.due, now + PauseAfter(open.action.attempt));
      continue;
    }
    open.due = now + DeadlineOf(open.action);
    actions.push_back(open.action);
  }
  return actions;
}

void ActionAttempts::NoteBegun(SimTime now, const SteeringAction& action) {
  const auto found = open_.find(action.number);
  if (found == open_.end() || !found->second.is_sent || found->second.action.attempt != action.attempt) return;
  found->second.due = now + DeadlineOf(action);
}

SimTime ActionAttempts::NextDue() const {
  SimTime due = SimTime::Never();
  for (const auto& [number, open] : open_) due = std::min(due, open.due);
  return due;
}

}  // namespace fairlead::controller
