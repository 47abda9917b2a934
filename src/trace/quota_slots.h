// Assigns jobs to moments of submission, so that demand never exceeds the cluster by much.
//
// Problem     moments of arrival, and GPU jobs with run times: pair them so that the numbers of
//             concurrent jobs and GPUs stay below limits.
// Method      jobs by GPU-time, the most demanding first, each to a random free moment at which it fits; after kTries
//             failures to the one of them that exceeds the limits least. The unit of time is the minute.
// Cost        O(jobs * tries * minutes per job) time, O(minutes) space.
// Guarantees  a permutation of the moments; without limits, a uniformly random one.
// Reference   ours. A cluster's quota does the same: a job that does not fit starts later.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"

namespace fairlead::trace {

struct QuotaLimits {
  double jobs = 0;  // 0: none
  double gpus = 0;
};

// Args: moments_s and run_times_s, gpus have the same size; end_s: what lies behind it is not looked at.
// Returns: for each job the index of its moment.
std::vector<size_t> AssignMoments(std::span<const double> moments_s, std::span<const double> run_times_s,
                                  std::span<const uint32_t> gpus, const QuotaLimits& limits, double end_s,
                                  Random* random);

}  // namespace fairlead::trace
