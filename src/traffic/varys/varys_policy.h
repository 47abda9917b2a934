// Varys: the job that finishes its slowest link soonest goes first, on the paths of the hashes.
//
// Problem     a baseline that knows each job's bottleneck, but neither GPUs nor iterations nor paths.
// Method      smallest effective bottleneck first (SEBF): jobs by max over links of bytes / capacity, ascending, then
//             by id. Levels: groups of equal size.
// Cost        O(links of all paths).
// Guarantees  same snapshot, same plan. A level never falls as rank grows.
// Differs     the original paces flows by rate (MADD) and lets remaining bytes decide; here one iteration's bytes
//             decide, and switches' levels carry the order out.
// Reference   Chowdhury et al., Varys, SIGCOMM 2014, section 5; Cao et al., Crux, SIGCOMM 2024, Figures 13 and 16.
#pragma once

#include "traffic/traffic_policy.h"

namespace fairlead::traffic::varys {

class VarysPolicy final : public TrafficPolicy {
 public:
  std::string_view name() const override { return "varys"; }
  TrafficPlan Plan(const TrafficSnapshot& snapshot) const override;
};

}  // namespace fairlead::traffic::varys
