// The part of a policy that decides where flows go, whatever the levels: so that an order of jobs can be put on top of
// any way to choose paths.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traffic/traffic_policy.h"

namespace fairlead::traffic {

class FlowRouter {
 public:
  virtual ~FlowRouter() = default;
  struct Routes {
    std::vector<model::Path> paths;  // [flow], plain or bundles (path_bundle.h); empty: cut off
    std::string reason;
    // Where flows choose their paths while they run; they may meet wherever a candidate leads.
    std::optional<PathChoice> choice = {};
  };
  // Of one job, whatever the others do. Pure.
  virtual Routes RouteJob(const TrafficSnapshot& snapshot, const JobView& job) const = 0;
};

// Flows as a router sends them; levels as another policy gives them to these paths.
class LayeredPolicy final : public TrafficPolicy {
 public:
  // `levels` moves no flow that has a path in force, such as crux-levels; null: one level for all. `name` must outlive
  // the policy.
  LayeredPolicy(std::string_view name, std::unique_ptr<const FlowRouter> router,
                std::unique_ptr<const TrafficPolicy> levels);

  std::string_view name() const override { return name_; }
  TrafficPlan Plan(const TrafficSnapshot& snapshot) const override;
  // Paths are routed anew, levels planned again.
  TrafficPlan PlanAgain(const TrafficSnapshot& snapshot, PlanMemory* memory) const override;

 private:
  TrafficPlan PlanWith(const TrafficSnapshot& snapshot, PlanMemory* memory) const;

  std::string_view name_;
  std::unique_ptr<const FlowRouter> router_;
  std::unique_ptr<const TrafficPolicy> levels_;
};

}  // namespace fairlead::traffic
