// The unified circle: how well jobs that share a link interleave, and which shifts in time interleave them best.
//
// Problem     jobs use a link in bursts, one per iteration. Shift their iterations so that bursts fall into the gaps
//             of others.
// Notation    L -> perimeter, in slots of one quantum;  r_j -> repeats: L = r_j * p_j, p_j the period of job j
//             bw_j / C -> demand;  Delta_j -> shifts[job], in slots
// Method      demand(x)  = sum over jobs of bw_j(x - Delta_j);  excess(x) = max(0, demand(x) - 1)
//             score      = 1 - sum of excess over all slots / L
//             Perimeter: of all L <= most, the one that stretches the periods least, so that each fits a whole number
//             of times; that is their least common multiple where it is small enough.
//             Shifts: job 0 stays at 0. For one job, the others fixed, the cost of every shift is a sliding window over
//             the excess that its burst would add, folded onto its period: all shifts in O(L). Two jobs: that is the
//             full search. More: one job after the other until nothing improves, from no shifts and three restarts
//             (jobs inserted one by one, and two random ones).
// Cost        O(L) for two jobs; O(restarts * sweeps * jobs * L) for more. See BM_TracePlan.
// Guarantees  the score never falls below that of no shifts at all; two jobs get the best score there is. Same input,
//             same output. Shifting all jobs alike changes no score.
// Differs     slots replace the paper's 72 angles; above the cap periods are stretched, never shortened, so that a job
//             can keep up with its own schedule. Among shifts of equal score the smallest wins.
// Reference   Rajasekaran et al., CASSINI, NSDI 2024, sections 3 and 4 (arXiv 2308.00852).
// Oracle      all shifts of three jobs on small circles (unified_circle_test.cc).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fairlead::traffic::cassini {

// One job's use of a link: `demand` during [begin, begin + length) of each of its periods, nothing else.
struct Burst {
  uint32_t repeats = 1;  // periods on the circle, 1 .. perimeter
  uint32_t begin = 0;    // slots after the iteration's begin; may lie beyond the period, it wraps
  uint32_t length = 0;   // slots, <= perimeter / repeats
  double demand = 0;     // of the link, > 0; 1 = all of it
};

// The perimeter <= most on which the most stretched period is stretched least, the smallest of equals. Period j is
// repeated floor(perimeter / periods[j]) times.
// Args     periods [job], in slots, 1 .. most; at least one.
// Cost     O(most * sum of 1 / periods * jobs).
uint32_t FindPerimeter(std::span<const uint32_t> periods, uint32_t most);

// Sum over all slots of the demand above the link's capacity, in slots of the whole link.
// Args     shifts [job], any number of slots.
double TotalExcess(uint32_t perimeter, std::span<const Burst> jobs, std::span<const uint32_t> shifts);
// 1 = no job ever waits; may be negative.
double Score(uint32_t perimeter, std::span<const Burst> jobs, std::span<const uint32_t> shifts);

// Returns  [job], each less than the job's period (rounded up); 0 for job 0.
std::vector<uint32_t> FindShifts(uint32_t perimeter, std::span<const Burst> jobs);

}  // namespace fairlead::traffic::cassini
