// Ethereal: single paths that are as even as spraying, because a few flows are split.
//
// Problem     n equal flows from one NIC to one leaf over s paths: they cannot be dealt out evenly unless s divides n.
// Method      r = n mod s, g = gcd(r, s), k = s / g. The first n - r flows go whole, round robin; the last r are split
//             into k parts each, which go round robin on. A dead path is none of the s.
// Guarantees  every path carries n / s of the flows: floor(n / s) whole ones, and r / g * g / s of one in parts.
// Differs     parts of a flow move in lockstep (path_bundle.h): the fluid model gives equal paths equal rates anyway.
// Reference   Addanki et al., Ethereal, arXiv 2407.00550.
#pragma once

#include <cstdint>

#include "traffic/flow_router.h"

namespace fairlead::traffic::ethereal {

struct SplitPlan {
  uint32_t num_whole = 0;       // flows that go whole
  uint32_t parts_of_rest = 1;   // of each of the others
  uint32_t num_flows_sent = 0;  // whole flows and parts
};

// Args: num_flows >= 1 equal flows over num_paths >= 1.
SplitPlan PlanSplit(uint32_t num_flows, uint32_t num_paths);

class EtherealRouter final : public FlowRouter {
 public:
  Routes RouteJob(const TrafficSnapshot& snapshot, const JobView& job) const override;
};

}  // namespace fairlead::traffic::ethereal
