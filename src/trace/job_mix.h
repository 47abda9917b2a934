// Which jobs a trace consists of: model label and GPUs together.
//
// Problem     counts by label are known, sizes by label for some labels, and sizes of all the others together.
// Method      one table of (label, GPUs) pairs is made of these; jobs are taken from it in even steps from a random
//             start (systematic sampling) and shuffled. Labels without sizes of their own are mixed independently of
//             size.
// Guarantees  every pair comes as often as the table says, rounded up or down, so that quantiles of small traces hold.
// Differs     the share of jobs without GPUs among unlisted labels is the rest of the profile's gpu_jobs.
// Reference   Lingjun data set; independence of label and size beyond the listed labels is ours.
#pragma once

#include <string>
#include <vector>

#include "base/random.h"
#include "trace/trace_profile.h"

namespace fairlead::trace {

struct JobKind {
  uint32_t gpus = 0;
  size_t model = 0;  // index into TraceProfile::models
};

// Args: count of jobs. Returns: kinds in random order. Cost: O(count + table).
std::vector<JobKind> DrawJobKinds(const TraceProfile& profile, size_t count, Random* random);

}  // namespace fairlead::trace
