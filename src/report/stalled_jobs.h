// Which jobs were stalled when their runs ended: stalled behind others, or cut off by failed links. Their slowdowns are
// only known to be at least so much, and no mean shows them, so reports name them.
#pragma once

#include <string>
#include <vector>

#include "sim/run_result.h"

namespace fairlead::report {

// One sentence per policy and job, in the order of the report; nothing where every job made progress. At most
// kNumStalledJobsShown per policy, then how many more there are. Names are clean text.
std::vector<std::string> DescribeStalledJobs(const sim::SimulationReport& report);
inline constexpr size_t kNumStalledJobsShown = 8;

}  // namespace fairlead::report
