// C4P as a traffic policy: every connection gets a path, all jobs have one level.
//
// Jobs keep what they have and newcomers fill the gaps, in order of arrival (balanced_paths.h). Queue pairs of a
// connection shift bytes among themselves by the time their messages take (JobPlan::balances_shares).
// Reference: Dong et al., C4, HPCA 2025.
#pragma once

#include <string_view>

#include "traffic/c4p/balanced_paths.h"
#include "traffic/traffic_policy.h"

namespace fairlead::traffic::c4p {

class C4pPolicy : public TrafficPolicy {
 public:
  C4pPolicy(BalancingOptions options, std::string_view name);

  std::string_view name() const override { return name_; }
  TrafficPlan Plan(const TrafficSnapshot& snapshot) const override;

 private:
  std::string_view name_;
  BalancedPaths paths_;
};

}  // namespace fairlead::traffic::c4p
