// How many GPU jobs of a trace are there at once, and how many GPUs they hold, if every job starts when it is
// submitted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trace/trace.h"

namespace fairlead::trace {

// Means over time and greatest values within [0, end_s).
struct Concurrency {
  double jobs_mean = 0;
  double gpus_mean = 0;
  uint64_t jobs_max = 0;
  uint64_t gpus_max = 0;
  double bin_s = 0;
  std::vector<double> bin_jobs;  // mean over each bin; the last bin may be shorter
  std::vector<double> bin_gpus;
};

// Jobs without GPUs are left out; jobs may be in any order. Args: end_s, bin_s > 0. Cost: O(n log n + bins + n * bins
// that a job crosses).
Concurrency MeasureConcurrency(std::span<const TraceJob> jobs, double end_s, double bin_s = kSecondsPerDay);

}  // namespace fairlead::trace
