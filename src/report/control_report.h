// What steering costs and how well jobs were measured, in sentences: re-plans, moved flows, changed levels, and the
// errors of profiled jobs.
#pragma once

#include <string>
#include <vector>

#include "sim/run_result.h"

namespace fairlead::report {

// One or two sentences for each policy that changed anything for running jobs, or profiled jobs; all seeds together.
// Plain text.
std::vector<std::string> DescribeControl(const sim::SimulationReport& report);

}  // namespace fairlead::report
