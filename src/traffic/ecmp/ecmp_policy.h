// Plain ECMP: every flow goes where the switches' hashes send it, and all jobs share one level.
//
// Problem     the baseline that everything else is measured against: what an unmanaged fabric does.
// Method      one five-tuple per flow, derived from the job, the flow and its GPUs; every switch hashes it and picks
//             one of its equal-cost next links. A flow keeps its path until a link of it dies; then it is hashed
//             again.
// Cost        O(links of all paths).
// Guarantees  same snapshot, same plan; a failure moves only the flows that crossed the failed links.
// Differs     nothing to differ from: luck dominates, so sweep hash seeds and report the spread.
// Reference   RFC 2992; Cao et al., Crux, SIGCOMM 2024, section 2.2, for what it costs.
#pragma once

#include "traffic/traffic_policy.h"

namespace fairlead::traffic {

class EcmpPolicy final : public TrafficPolicy {
 public:
  std::string_view name() const override { return "ecmp"; }
  TrafficPlan Plan(const TrafficSnapshot& snapshot) const override;
};

}  // namespace fairlead::traffic
