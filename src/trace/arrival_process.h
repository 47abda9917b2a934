// When jobs are submitted: as many per day as were seen, by hours of the day, some of them in batches.
//
// Problem     jobs per day and weights of the hours are known; the series of arrivals is not, but is burstier than a
//             Poisson process.
// Method      per day: a share of the jobs comes in batches of geometric size, spread evenly over a short window;
//             batches and single jobs begin at independent moments drawn from the day's profile. This is a Poisson
//             process (of batches) given its daily totals.
// Guarantees  each day has its number of jobs exactly, and no batch crosses midnight; whole seconds, ascending.
// Reference   Lingjun data set; batches are ours (nothing is known about them).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "trace/trace_profile.h"

namespace fairlead::trace {

// Days that a trace with these options has.
uint32_t NumTraceDays(const TraceProfile& profile, const GeneratorOptions& options);
// "1 day", "16 days".
std::string CountDays(uint32_t num_days);

// Args: valid options. Returns: seconds from the start of the first day. Cost: O(n log n).
std::vector<double> DrawArrivals(const TraceProfile& profile, const GeneratorOptions& options, Random* random);

}  // namespace fairlead::trace
