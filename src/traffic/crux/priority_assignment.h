// Priority assignment: a total order of all jobs, most urgent first.
//
// Problem     when two jobs meet on a link, which goes first, so that the cluster does the most work?
// Notation    I_j -> JobProfile::intensity;  k_j -> correction.factor;  P_j = k_j * I_j -> priority, FLOP/s
// Method      1. the reference job r has the most network traffic per second of its solo run; k_r = 1
//             2. every other job is compared with r alone (correction_factor.h)
//             3. sort by P, descending; JobId breaks ties.
// Cost        one set of pair simulations per job: O(n * phases^2 * events).
// Guarantees  the result is a permutation; equal input, equal output.
// Differs     "the most network traffic" is bytes per second over network links, lowest id first (the paper leaves it
//             open). An undefined factor (paper mode) counts as 1 and is marked as undefined. A job with iterations
//             that could not be distinguished has the factor 1, and is the reference only among such jobs.
// Reference   Cao et al., Crux, SIGCOMM 2024, section 4.2.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"
#include "traffic/crux/correction_cache.h"
#include "traffic/crux/correction_factor.h"
#include "traffic/gpu_intensity.h"

namespace fairlead::traffic::crux {

struct AssignedPriority {
  CorrectionFactor correction;  // of the reference job itself: 1, no gains
  FlopPerSecond priority;       // P_j
  uint32_t rank = 0;            // 0 = most urgent
};

struct PriorityOrder {
  uint32_t reference = 0;              // index of r; meaningless without jobs
  std::vector<AssignedPriority> jobs;  // [job]
  std::vector<uint32_t> by_rank;       // [rank] -> job
};

// Args: jobs [job], all with 0 < communication_time < infinity.
// Paper: section 4.2.
PriorityOrder AssignPriorities(std::span<const JobProfile> jobs, const CorrectionOptions& options);
// The same, with the options of a cache that knows the pairs of earlier orders.
PriorityOrder AssignPrioritiesCached(std::span<const JobProfile> jobs, CorrectionCache* corrections);

// Sets by_rank and every rank from the priorities: descending, JobId breaks ties.
void RankByPriority(std::span<const JobProfile> jobs, PriorityOrder* order);

}  // namespace fairlead::traffic::crux
