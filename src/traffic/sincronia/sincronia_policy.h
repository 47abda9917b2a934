// Sincronia: coflows in the order of their bottlenecks, on the paths of the hashes.
//
// Problem     a baseline that knows which bytes belong together, but neither GPUs nor iterations nor paths.
// Method      coflow = one iteration's communication of a job. Order: bssi_order.h, from bytes over capacity on every
//             link. Levels: the first num_levels-1 ranks have their own, all others share the last one. Rates: any that
//             respect the order; pacing (coflow_pacing.h) is an option.
// Cost        that of the order; see BM_TracePlan.
// Guarantees  same snapshot, same plan. A level never falls as rank grows.
// Differs     the original orders flows inside a NIC and sends the order as a type of service; levels follow its
//             authors' rule max(K-1-rank, 0). The order is made again at every event.
// Reference   Agarwal et al., Sincronia, SIGCOMM 2018; Cao et al., Crux, SIGCOMM 2024, section 6 and Figure 13.
#pragma once

#include "traffic/coflow_pacing.h"
#include "traffic/traffic_policy.h"

namespace fairlead::traffic::sincronia {

class SincroniaPolicy final : public TrafficPolicy {
 public:
  explicit SincroniaPolicy(const CoflowOptions& options = {}) : options_(options) {}

  std::string_view name() const override { return "sincronia"; }
  TrafficPlan Plan(const TrafficSnapshot& snapshot) const override;

 private:
  CoflowOptions options_;
};

}  // namespace fairlead::traffic::sincronia
