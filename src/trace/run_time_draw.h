// How long each job of a trace runs.
//
// Problem     the run times of all jobs together follow a known law; how they depend on size is not known. If they did
//             not, more GPU jobs would be there at once than were counted.
// Notation    F -> the published law; F_s -> F with its tail scaled; rho -> rank_correlation
// Method      GPU jobs: one value out of each n-th of F_s (stratified), handed out by rank of a Gaussian copula with
//             the rank of the job's GPUs. Other jobs: in each interval between published quantiles as many values as F
//             has there beyond those of the GPU jobs.
// Guarantees  all values together meet the published quantiles to 1/n in probability, whatever tail_scale and rho are
//             (while the GPU jobs alone don't exceed F in an interval); the greatest value is F's where a job without
//             GPUs falls into the last interval.
// Differs     the recipe scales the tail of all jobs; then the published p99 is missed by half. That jobs without GPUs
//             run the longest is unlikely; networks never see them.
// Reference   Lingjun data set; copula and balance are ours.
#pragma once

#include <span>
#include <vector>

#include "base/random.h"
#include "trace/run_time_law.h"

namespace fairlead::trace {

// Args: GPUs of each GPU job. Returns: minutes for each. Cost: O(n log n).
std::vector<double> DrawGpuRunTimes(std::span<const uint32_t> gpus, const RunTimeLaw& law, double rank_correlation,
                                    Random* random);

// Args: all -> the law of all jobs; gpu_run_times -> those of the GPU jobs. Returns: minutes for each of `count` other
// jobs, in random order.
std::vector<double> DrawOtherRunTimes(std::span<const double> gpu_run_times, const RunTimeLaw& all, size_t count,
                                      Random* random);

}  // namespace fairlead::trace
