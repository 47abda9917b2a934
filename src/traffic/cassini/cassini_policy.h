// CASSINI: shifts jobs in time, so that the bursts of those that share a link fall into each other's gaps.
//
// Problem     a baseline that uses neither paths nor levels: iterations that begin at the right instants meet on no
//             link. Where jobs don't fit together at all, they are kept off one link by placement.
// Method      1. paths of the hashes, one level
//             2. a job's iteration as a burst: period p_j = its time alone, the bytes of a link spread over t_j from
//                s_j * C_j on
//             3. links with joint bursts beyond their capacity join jobs into components
//             4. per component: one circle in slots of 1 ms (unified_circle.h), one shift per job (affinity_graph.h);
//                s0, s1 = mean score of its links without and with them
//             5. s1 - s0 < min_score_gain: no shift, and no job waits for anything
//                s1 >= 0.999: iterations begin at shift modulo p_j, and wait again where they drift (time_shift.h)
//                otherwise some link has more to carry than it can: u = greatest sum over a link's jobs of T_j / p_j,
//                T_j the time that the job needs it for. With u > 1 steps 4 and 5 are repeated with periods u * p_j, in
//                which all bursts have room one after the other; each iteration has its turn.
//             6. with `placements` above 1, where a job arrives: the best of so many places that are as good to the
//                placement policy (placement_score.h). With 1 the policy's own, and only shifts are CASSINI's, as in
//                Crux's comparison.
// Cost        dominated by the circles: O(contended links * perimeter). See BM_TracePlan.
// Guarantees  same snapshot, same plan; the shifts of a component depend on its own jobs, links and paths alone, so
//             that departures elsewhere don't move them. A job that meets no other gets no shift.
// Differs     one job is placed at a time, where it arrives; running ones stay. No threshold of the score is published:
//             gains were clear from 0.8 on and gone at 0.6. s0 is the score without shifts: phases of jobs are not
//             known. The circle has at most 50 s (or the longest period, if that is more); periods are stretched to fit
//             it, and a job that would be stretched by more than 5 % is left alone. Several communication phases count
//             as one burst.
// Reference   Rajasekaran et al., CASSINI, NSDI 2024 (arXiv 2308.00852); Cao et al., Crux, SIGCOMM 2024, section 6.
#pragma once

#include <span>

#include "traffic/cassini/cassini_options.h"
#include "traffic/traffic_policy.h"

namespace fairlead::traffic::cassini {

class CassiniPolicy final : public TrafficPolicy {
 public:
  // `options` must be valid.
  explicit CassiniPolicy(CassiniOptions options = {});

  std::string_view name() const override { return "cassini"; }
  TrafficPlan Plan(const TrafficSnapshot& snapshot) const override;
  uint32_t NumPlacements() const override { return options_.placements; }
  PlacementChoice ChoosePlacement(const TrafficSnapshot& snapshot, std::span<const JobView> candidates) const override;

 private:
  CassiniOptions options_;
};

}  // namespace fairlead::traffic::cassini
