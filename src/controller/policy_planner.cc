#include "controller/policy_planner.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace fairlead::controller {

PolicyPlanner::PolicyPlanner(const topology::Fabric& fabric, const traffic::TrafficPolicy& policy,
                             PlannerOptions options)
    : policy_(&policy), options_(options), router_(fabric), health_(fabric.num_links(), 1.0) {
  FL_CHECK(options_.num_levels >= 1);
}

void PolicyPlanner::SetHealth(LinkId link, double health) {
  FL_CHECK(health >= 0 && health <= 1);
  if (std::exchange(health_[link], health) == health) return;
  changed_links_.push_back(link);
  is_router_stale_ = true;
}

bool PolicyPlanner::Refresh() {
  if (!std::exchange(is_router_stale_, false)) return false;
  router_.SetHealth(health_);
  memory_.Clear();
  is_all_healthy_ = std::all_of(health_.begin(), health_.end(), [](double health) { return health == 1; });
  return true;
}

traffic::TrafficSnapshot PolicyPlanner::Snapshot(std::span<const traffic::JobView> jobs) {
  Refresh();
  return {.router = &router_,
          .health = is_all_healthy_ ? nullptr : &health_,
          .jobs = jobs,
          .num_levels = options_.num_levels,
          .hash_seed = options_.hash_seed,
          .random_seed = options_.random_seed,
          .changed_links = changed_links_};
}

traffic::TrafficPlan PolicyPlanner::Plan(const traffic::TrafficSnapshot& snapshot) {
  if (!options_.remembers_plans) return PlanApart(snapshot);
  return Checked(policy_->PlanAgain(snapshot, &memory_), snapshot);
}

traffic::TrafficPlan PolicyPlanner::PlanApart(const traffic::TrafficSnapshot& snapshot) {
  return Checked(policy_->Plan(snapshot), snapshot);
}

traffic::PlacementChoice PolicyPlanner::ChoosePlacement(std::span<const traffic::JobView> jobs,
                                                        std::span<const traffic::JobView> candidates) {
  const traffic::PlacementChoice choice = policy_->ChoosePlacement(Snapshot(jobs), candidates);
  FL_CHECK_MSG(choice.candidate < candidates.size(), "a traffic policy must choose one of the candidates");
  return choice;
}

traffic::TrafficPlan PolicyPlanner::Checked(traffic::TrafficPlan plan, const traffic::TrafficSnapshot& snapshot) {
  FL_CHECK_MSG(plan.jobs.size() == snapshot.jobs.size(), "a traffic policy must plan every job");
  for (size_t j = 0; j < plan.jobs.size(); ++j) {
    FL_CHECK_MSG(plan.jobs[j].id == snapshot.jobs[j].id, "a traffic policy must keep the snapshot's order");
  }
  changed_links_.clear();
  return plan;
}

}  // namespace fairlead::controller
