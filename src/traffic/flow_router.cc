#include "traffic/flow_router.h"

#include <utility>

#include "base/check.h"

namespace fairlead::traffic {

LayeredPolicy::LayeredPolicy(std::string_view name, std::unique_ptr<const FlowRouter> router,
                             std::unique_ptr<const TrafficPolicy> levels)
    : name_(name), router_(std::move(router)), levels_(std::move(levels)) {
  FL_CHECK(router_ != nullptr);
}

TrafficPlan LayeredPolicy::Plan(const TrafficSnapshot& snapshot) const { return PlanWith(snapshot, nullptr); }

TrafficPlan LayeredPolicy::PlanAgain(const TrafficSnapshot& snapshot, PlanMemory* memory) const {
  return PlanWith(snapshot, memory);
}

TrafficPlan LayeredPolicy::PlanWith(const TrafficSnapshot& snapshot, PlanMemory* memory) const {
  std::vector<FlowRouter::Routes> routes;
  std::vector<JobView> views(snapshot.jobs.begin(), snapshot.jobs.end());
  routes.reserve(views.size());
  for (JobView& view : views) {
    routes.push_back(router_->RouteJob(snapshot, view));
    if (view.paths.empty()) view.level = 0;
    view.paths = routes.back().choice ? routes.back().choice->candidates : routes.back().paths;
  }
  TrafficPlan plan;
  if (levels_ != nullptr) {
    TrafficSnapshot routed = snapshot;
    routed.jobs = views;
    plan = memory == nullptr ? levels_->Plan(routed) : levels_->PlanAgain(routed, memory);
  }
  plan.jobs.resize(views.size());
  for (size_t j = 0; j < views.size(); ++j) {
    JobPlan& mine = plan.jobs[j];
    mine.id = views[j].id;
    mine.reason =
        levels_ == nullptr ? routes[j].reason + "; one level for all jobs" : routes[j].reason + "; " + mine.reason;
    mine.paths = std::move(routes[j].paths);
    mine.senders.choice = std::move(routes[j].choice);
  }
  return plan;
}

}  // namespace fairlead::traffic
