// What broken GPUs of a simulated cluster cost, and how soon they were found and replaced, in sentences.
#pragma once

#include <string>
#include <vector>

#include "sim/run_result.h"

namespace fairlead::report {

// Two or three sentences for each policy with faults that a job met; all seeds together. Times are medians, in seconds
// from the moment at which a job met the fault. Plain text.
std::vector<std::string> DescribeHealth(const sim::SimulationReport& report);

}  // namespace fairlead::report
