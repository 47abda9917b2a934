#include "slurm/step_orders.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace fairlead::slurm {
namespace {

bool IsLong(const controller::SteeringStep& step) {
  return std::holds_alternative<controller::RestartJob>(step) || std::holds_alternative<controller::TestHost>(step);
}

std::optional<uint32_t> JobOfOrder(const StepOrder& order) {
  const auto identity = model::ParseJobKey(order.job);
  if (!identity.has_value()) return std::nullopt;
  return JobNumberOf(*identity);
}

}  // namespace

void StepOrders::Put(StepOrder order, Clock::time_point now) {
  const auto patience = IsLong(order.step) ? patience_.long_steps : patience_.others;
  const uint64_t action = order.action;
  {
    const std::lock_guard lock(mutex_);
    underway_[action] = {std::move(order), now + patience, ""};
  }
  changed_.notify_all();
}

void StepOrders::Take(const UnderwayStep& turn, StepProgress progress, Clock::time_point now) {
  using Kind = StepProgress::Kind;
  if (progress.kind == Kind::kUnderway && now >= turn.until) {
    progress = {Kind::kFailed, "not within its time: " + progress.message, {}};
  }
  const StepOrder& order = turn.order;
  const std::lock_guard lock(mutex_);
  const auto found = underway_.find(order.action);
  // Otherwise a newer attempt of the same action has come.
  const bool is_same = found != underway_.end() && found->second.order.attempt == order.attempt;
  if (progress.kind == Kind::kUnderway) {
    if (is_same) found->second.message = std::move(progress.message);
    return;
  }
  const bool is_done = progress.kind == Kind::kDone;
  const bool is_final = progress.kind == Kind::kRefused;
  ++ended_[is_done ? "done" : is_final ? "refused" : "failed"];
  outcomes_.emplace_back(controller::StepDone{.action = order.action,
                                              .attempt = order.attempt,
                                              .succeeded = is_done,
                                              .is_final = is_final,
                                              .message = std::move(progress.message)});
  if (const auto* test = std::get_if<controller::TestHost>(&order.step); test != nullptr && progress.is_healthy) {
    outcomes_.emplace_back(controller::HostTested{test->host, *progress.is_healthy});
  }
  if (is_same) underway_.erase(found);
}

void StepOrders::Report(std::vector<controller::SteeringEvent> events) {
  const std::lock_guard lock(mutex_);
  std::ranges::move(events, std::back_inserter(outcomes_));
}

std::vector<controller::SteeringEvent> StepOrders::TakeOutcomes() {
  const std::lock_guard lock(mutex_);
  return std::exchange(outcomes_, {});
}

std::vector<StepOrders::UnderwayStep> StepOrders::Underway() const {
  std::vector<UnderwayStep> steps;
  const std::lock_guard lock(mutex_);
  for (const auto& [action, step] : underway_) steps.push_back(step);
  return steps;
}

std::set<std::string> StepOrders::Subjects() const {
  std::set<std::string> subjects;
  const std::lock_guard lock(mutex_);
  for (const auto& [action, step] : underway_) {
    if (const auto job = JobOfOrder(step.order)) subjects.insert(fmt::format("job {}", *job));
    if (!step.order.host.empty()) subjects.insert("host " + step.order.host);
  }
  return subjects;
}

std::set<uint32_t> StepOrders::Jobs() const {
  std::set<uint32_t> jobs;
  const std::lock_guard lock(mutex_);
  for (const auto& [action, step] : underway_) {
    if (const auto job = JobOfOrder(step.order)) jobs.insert(*job);
  }
  return jobs;
}

StepOrders::Counts StepOrders::counts() const {
  const std::lock_guard lock(mutex_);
  return {underway_.size(), ended_};
}

bool StepOrders::Wait(Clock::time_point until_if_none, Clock::time_point until_if_some) {
  std::unique_lock lock(mutex_);
  const size_t num_underway = underway_.size();
  changed_.wait_until(lock, num_underway == 0 ? until_if_none : until_if_some,
                      [&] { return is_over_ || underway_.size() > num_underway; });
  return !is_over_;
}

void StepOrders::Stop() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
}

bool StepOrders::is_over() const {
  const std::lock_guard lock(mutex_);
  return is_over_;
}

}  // namespace fairlead::slurm
