// Who chooses the paths of surveyed jobs: a part that policies which order jobs can be given.
#pragma once

#include <span>

#include "traffic/job_survey.h"
#include "traffic/link_traffic.h"
#include "traffic/traffic_policy.h"

namespace fairlead::traffic {

class PathChooser {
 public:
  virtual ~PathChooser() = default;
  // Sets the paths of all participants in the plan of `survey`, which has their paths in force or those of their
  // hashes. Pure, like the policy that asks. Args: precedence [participant], greater comes first.
  virtual void ChoosePaths(const TrafficSnapshot& snapshot, const LinkTable& links, std::span<const double> precedence,
                           JobSurvey* survey) const = 0;
};

}  // namespace fairlead::traffic
