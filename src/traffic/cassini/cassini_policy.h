// CASSINI: shifts jobs in time, so that the bursts of those that share a link fall into each other's gaps.
//
// Problem     a baseline that uses neither paths nor levels: iterations that begin at the right instants meet on no
//             link.
// Method      1. paths of the hashes, one level
//             2. a job's iteration as a burst: period = its time alone, the bytes of a link spread over t_j from
//                s_j * C_j on
//             3. links with joint bursts beyond their capacity join jobs into components
//             4. per component: one circle in slots of 1 ms (unified_circle.h), one shift per job (affinity_graph.h)
//             5. iterations begin at shift modulo period, counted from time 0, and are put right when they are off by
//                more than 5 % of the period
// Cost        dominated by the circles: O(contended links * perimeter). See BM_TracePlan.
// Guarantees  same snapshot, same plan; the shifts of a component depend on its own jobs, links and paths alone, so
//             that departures elsewhere don't move them. A job that meets no other gets no shift.
// Differs     only the shifts of the original; it also chooses among placements. The circle has at most 50 s (or the
//             longest period, if that is more); periods are stretched to fit it, and a job that would be stretched by
//             more than 5 % is left alone. Several communication phases count as one burst.
// Reference   Rajasekaran et al., CASSINI, NSDI 2024 (arXiv 2308.00852); Cao et al., Crux, SIGCOMM 2024, section 6.
#pragma once

#include "traffic/traffic_policy.h"

namespace fairlead::traffic::cassini {

class CassiniPolicy final : public TrafficPolicy {
 public:
  std::string_view name() const override { return "cassini"; }
  TrafficPlan Plan(const TrafficSnapshot& snapshot) const override;
};

}  // namespace fairlead::traffic::cassini
