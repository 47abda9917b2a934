// MLTCP: congestion controls that favour the flow which has sent more of its iteration, so that jobs on one link slide
// apart by themselves.
//
// Problem     periodic jobs that send at the same time share a link and all end late. Nobody tells them their turns.
// Notation    r = bytes sent in this iteration / bytes per iteration;  F(r) = slope * r + intercept;  T = time of the
//             iteration's bytes alone;  p = time of an iteration alone;  D = difference of two jobs' starts
// Method      A flow's weight in the sharing of links is F(r): the job that began earlier gets more, ends earlier and
//             begins its next iteration earlier still. Paths are those of the hashes; one level for all. Weights are
//             renewed at every event and at least each min(1 ms, T / 100). Jobs in step would never part (D = 0 is an
//             unstable fixed point): the first iteration begins up to p / 1000 late, drawn for each job.
// Guarantees  Two equal jobs on one link: D grows by slope * D (T - D) / (T * intercept + slope * D) an iteration, up
//             to D = T. Slope 0 is ECMP, bit by bit.
// Differs     the paper multiplies window increases, or rates, of TCP and DCQCN; their fluid limit is the weight.
// Reference   Rajasekaran et al., MLTCP, arXiv 2402.09589; specification "rivals and fabrics", section 2.
#pragma once

#include "traffic/mltcp/mltcp_options.h"
#include "traffic/traffic_policy.h"

namespace fairlead::traffic::mltcp {

class MltcpPolicy final : public TrafficPolicy {
 public:
  // `options` must be valid.
  explicit MltcpPolicy(const MltcpOptions& options) : options_(options) {}

  std::string_view name() const override { return "mltcp"; }
  TrafficPlan Plan(const TrafficSnapshot& snapshot) const override;

 private:
  MltcpOptions options_;
};

}  // namespace fairlead::traffic::mltcp
