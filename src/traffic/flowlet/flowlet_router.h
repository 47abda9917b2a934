// Flowlets: switches choose the path of each flow by load, when the flow pauses.
//
// Problem     hashes put flows on one uplink while others are idle. What do policies for paths win where switches look
//             at loads themselves?
// Method      A flow gets all equal-cost paths behind its NIC's port as candidates, and a rule by which it takes one of
//             them at the start of a block after a gap, and every now and then while it sends (PathChoice; carried out
//             by sim/flowlet_chooser.h). Until its first block it is on the path of its hash.
// Guarantees  Without gaps and remaps it is ECMP, bit by bit. S equal flows over S paths end disjoint under `conga`.
// Cost        O(links of all candidates) for each flow; at most 128 candidates, evenly spaced.
// Differs     loads are rates of this instant where CONGA averages over 160 us and rounds to 3 bits. Full links look
//             alike, however many flows share them.
// Reference   Alizadeh et al., CONGA, SIGCOMM 2014; Vanini et al., LetFlow, NSDI 2017; specification "rivals and
//             fabrics", section 4.3.
#pragma once

#include "traffic/flow_router.h"
#include "traffic/flowlet/flowlet_options.h"

namespace fairlead::traffic::flowlet {

class FlowletRouter final : public FlowRouter {
 public:
  // `options` must be valid.
  explicit FlowletRouter(const FlowletOptions& options) : options_(options) {}

  Routes RouteJob(const TrafficSnapshot& snapshot, const JobView& job) const override;

 private:
  FlowletOptions options_;
};

}  // namespace fairlead::traffic::flowlet
