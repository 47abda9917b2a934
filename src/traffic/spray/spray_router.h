// Packet spraying: every flow takes all of its equal-cost paths at once.
//
// Problem     fabrics of today send each packet of a flow over another path (UEC, MRC, Spectrum-X). What do policies
//             for paths and levels win there?
// Method      A flow becomes a bundle (path_bundle.h) of its live equal-cost paths. Its ports carry alike, in each
//             plane that is alive at both ends; behind a port paths carry
//               oblivious   alike
//               adaptive    in proportion to the least capacity on them, and no port more than it has
//             Splits that are no small fractions are rounded to 240 parts.
// Guarantees  On two leaves with S spines of capacity c, n flows of NICs of rate 1 get min(1, S * c / n) each. With one
//             path it is ECMP.
// Failures    the router knows what was detected. Until then a flow keeps its bundle, and its dead parts break off
//             (path_bundle.h): who knows what when is the simulator's (sim/failure_detection.h).
// Cost        O(links of all equal-cost paths) for each flow; at most SprayOptions::paths of them.
// Differs     adaptive splits follow capacities, not the load of other flows: exact where flows that meet have the same
//             paths. Entropy values are spread evenly over the paths; hashes of real ones are not.
// Reference   UEC 1.0; MRC (arXiv 2605.04333); specification "rivals and fabrics", section 4.2.
#pragma once

#include "traffic/flow_router.h"
#include "traffic/spray/spray_options.h"

namespace fairlead::traffic::spray {

class SprayRouter final : public FlowRouter {
 public:
  // `options` must be valid.
  explicit SprayRouter(SprayOptions options) : options_(options) {}

  Routes RouteJob(const TrafficSnapshot& snapshot, const JobView& job) const override;

 private:
  SprayOptions options_;
};

}  // namespace fairlead::traffic::spray
