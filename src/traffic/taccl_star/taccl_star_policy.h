// TACCL*: least congested paths, far transfers first; what the Crux paper makes of TACCL between jobs.
//
// Problem     a baseline that chooses paths as well as Crux does, but knows nothing of GPUs.
// Method      paths: each flow takes the least congested of its equal-cost paths (path_selection.h), when its job comes
//             (reading `arrivals`), or at every change, in order of arrival (`all`). Order: by the tiers that the
//             farthest flow crosses (leaf, spine, core), then by bytes times network hops, both descending, then by id.
//             Levels: groups of equal size, or Sincronia's rule.
// Cost        that of the paths; see BM_TracePlan.
// Guarantees  same snapshot, same plan. Every path is one of the router's equal-cost paths. A level never falls as rank
//             grows.
// Differs     the real TACCL synthesizes the collectives inside one job. The Crux paper gives two rules (footnote 3:
//             less congested paths, longer distance first); measure of distance, ties and levels are ours.
// Reference   Shah et al., TACCL, NSDI 2023; Cao et al., Crux, SIGCOMM 2024, section 6.
#pragma once

#include "traffic/taccl_star/taccl_star_options.h"
#include "traffic/traffic_policy.h"

namespace fairlead::traffic::taccl_star {

class TacclStarPolicy final : public TrafficPolicy {
 public:
  // `options` must be valid.
  explicit TacclStarPolicy(TacclStarOptions options);

  std::string_view name() const override { return "taccl-star"; }
  TrafficPlan Plan(const TrafficSnapshot& snapshot) const override;

 private:
  TacclStarOptions options_;
};

}  // namespace fairlead::traffic::taccl_star
