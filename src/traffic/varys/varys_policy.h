// Varys: the job that finishes its slowest link soonest goes first, on the paths of the hashes.
//
// Problem     a baseline that knows each job's bottleneck, but neither GPUs nor iterations nor paths.
// Method      smallest effective bottleneck first (SEBF): jobs by max over links of bytes / capacity, ascending, then
//             by id. Levels: groups of equal size. Rates: minimum allocation for desired duration (MADD) and backfill,
//             by default (coflow_pacing.h, sender_rules.h).
// Cost        O(links of all paths).
// Guarantees  same snapshot, same plan. A level never falls as rank grows.
// Differs     the original lets remaining bytes decide about the order; here one iteration's bytes do. Where jobs are
//             more than levels, levels go before the hosts' pacing.
// Reference   Chowdhury et al., Varys, SIGCOMM 2014, section 5; Cao et al., Crux, SIGCOMM 2024, Figures 13 and 16.
#pragma once

#include "traffic/coflow_pacing.h"
#include "traffic/traffic_policy.h"

namespace fairlead::traffic::varys {

inline constexpr CoflowOptions kDefaultOptions = {.pacing = Pacing::kMaddAndBackfill};

class VarysPolicy final : public TrafficPolicy {
 public:
  explicit VarysPolicy(const CoflowOptions& options = kDefaultOptions) : options_(options) {}

  std::string_view name() const override { return "varys"; }
  TrafficPlan Plan(const TrafficSnapshot& snapshot) const override;

 private:
  CoflowOptions options_;
};

}  // namespace fairlead::traffic::varys
