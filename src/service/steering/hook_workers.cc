#include "service/steering/hook_workers.h"

#include <algorithm>
#include <utility>

#include "service/steering/hook_message.h"

namespace fairlead::service {

using controller::SteeringAction;
using controller::SteeringEvent;

HookWorkers::HookWorkers(const HookWorkersOptions& options, WriteInput write_input)
    : options_(options), write_input_(std::move(write_input)) {
  for (uint32_t i = 0; i < options_.num_workers; ++i) threads_.emplace_back([this] { Run(); });
}

HookWorkers::~HookWorkers() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void HookWorkers::Begin(SimTime, const SteeringAction& action) {
  Order order{action, write_input_(action)};
  {
    const std::lock_guard lock(mutex_);
    const auto older = std::find_if(orders_.begin(), orders_.end(),
                                    [&](const Order& waiting) { return waiting.action.number == action.number; });
    if (older != orders_.end()) {
      *older = std::move(order);
    } else {
      orders_.push_back(std::move(order));
    }
  }
  changed_.notify_one();
}

std::vector<SteeringEvent> HookWorkers::TakeOutcomes(SimTime) {
  const std::lock_guard lock(mutex_);
  return std::exchange(outcomes_, {});
}

std::deque<HookWorkers::Order>::iterator HookWorkers::FindNext() {
  return std::find_if(orders_.begin(), orders_.end(),
                      [&](const Order& order) { return !busy_with_.contains(order.action.number); });
}

void HookWorkers::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    auto next = orders_.end();
    changed_.wait(lock, [&] {
      next = FindNext();
      return is_over_ || next != orders_.end();
    });
    if (is_over_) return;
    const Order order = std::move(*next);
    orders_.erase(next);
    busy_with_.insert(order.action.number);
    lock.unlock();
    CarryOut(order);
    lock.lock();
    busy_with_.erase(order.action.number);
    changed_.notify_all();
  }
}

void HookWorkers::CarryOut(const Order& order) {
  const controller::SteeringStep& step = order.action.step;
  const bool is_long =
      std::holds_alternative<controller::RestartJob>(step) || std::holds_alternative<controller::TestHost>(step);
  const ExecHookOptions run = {.command = options_.command,
                               .deadline = is_long ? options_.long_deadline : options_.deadline,
                               .grace = options_.grace,
                               .stop = &is_over_};
  HookOutcome outcome = JudgeHook(order.action, RunExecHook(run, order.input));
  const std::lock_guard lock(mutex_);
  if (is_over_) return;
  // What comes next may be spoilt by doing it again.
  const uint64_t number = order.action.number;
  if (outcome.done.succeeded) std::erase_if(orders_, [&](const Order& other) { return other.action.number == number; });
  outcomes_.emplace_back(std::move(outcome.done));
  if (outcome.tested) outcomes_.emplace_back(*outcome.tested);
}

}  // namespace fairlead::service
