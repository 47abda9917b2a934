// Fixed: the paths and levels of the scenario, for examples, worst cases and comparisons with other simulators.
//
// A path that failures have killed is replaced by the one of the same number, or through the same switch, among those
// that are left; it comes back with the link.
#pragma once

#include <utility>

#include "traffic/fixed/fixed_options.h"
#include "traffic/traffic_policy.h"

namespace fairlead::traffic::fixed {

class FixedPolicy final : public TrafficPolicy {
 public:
  explicit FixedPolicy(FixedOptions options) : options_(std::move(options)) {}

  std::string_view name() const override { return "fixed"; }
  TrafficPlan Plan(const TrafficSnapshot& snapshot) const override;

 private:
  FixedOptions options_;
};

}  // namespace fairlead::traffic::fixed
