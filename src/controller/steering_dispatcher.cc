#include "controller/steering_dispatcher.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace fairlead::controller {

SteeringDispatcher::SteeringDispatcher(Steering* steering, ActionBackend* backend, WriteAudit audit)
    : steering_(steering), backend_(backend), audit_(std::move(audit)) {}

std::vector<SteeringAction> SteeringDispatcher::Handle(SimTime now, std::span<const SteeringEvent> events) {
  std::vector<SteeringAction> actions;
  // Answers that are there come before their time is over, and after what happened before they came.
  std::vector<SteeringEvent> news(events.begin(), events.end());
  std::ranges::move(TakeOutcomes(now), std::back_inserter(news));
  HandleOnce(now, news, &actions);
  // Every round answers actions, and a sequence has a finite number of them.
  for (news = TakeOutcomes(now); !news.empty(); news = TakeOutcomes(now)) HandleOnce(now, news, &actions);
  return actions;
}

std::vector<SteeringEvent> SteeringDispatcher::TakeOutcomes(SimTime now) {
  std::vector<SteeringEvent> outcomes = backend_->TakeOutcomes(now);
  for (const SteeringEvent& outcome : outcomes) {
    if (audit_) audit_({now, outcome});
  }
  return outcomes;
}

void SteeringDispatcher::HandleOnce(SimTime now, std::span<const SteeringEvent> events,
                                    std::vector<SteeringAction>* actions) {
  for (SteeringAction& action : steering_->Handle(now, events)) {
    if (audit_) audit_({now, action});
    if (IsAnswered(action.step)) backend_->Begin(now, action);
    actions->push_back(std::move(action));
  }
}

}  // namespace fairlead::controller
