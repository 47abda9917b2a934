#include "controller/steering_outbox.h"

#include <utility>

namespace fairlead::controller {

uint64_t SteeringOutbox::Tell(SimTime now, SteeringStep step, JobId job, const model::Finding* finding,
                              std::string reason) {
  SteeringAction action;
  action.number = ++num_actions_;
  action.step = std::move(step);
  action.job = job;
  action.reason = std::move(reason);
  if (finding != nullptr) {
    action.finding = finding->id;
    action.confidence = finding->confidence;
    action.evidence = finding->evidence;
  }
  if (IsAnswered(action.step)) attempts_.Add(now, action);
  actions_.push_back(std::move(action));
  return num_actions_;
}

void SteeringOutbox::ForgetAll() {
  std::vector<uint64_t> numbers;
  for (const auto& [number, open] : attempts_.open()) numbers.push_back(number);
  for (const uint64_t number : numbers) attempts_.Forget(number);
}

void SteeringOutbox::Restore(uint64_t num_actions, std::vector<ActionAttempts::Open> open) {
  num_actions_ = num_actions;
  for (ActionAttempts::Open& one : open) attempts_.Restore(std::move(one));
}

}  // namespace fairlead::controller
