// What the runs of a report have drawn: how many draws, and what differs between them.
#pragma once

#include <string>
#include <vector>

#include "report/run_summary.h"
#include "sim/run_result.h"

namespace fairlead::report {

// "6 runs: 2 policies x 3 draws (hash, phases and placement vary), 60 min simulated in each".
std::string DescribeDraws(const sim::SimulationReport& report, const std::vector<PolicySummary>& summaries);

// What "±" means where there are several draws, and that nothing is known about chance where there is one.
std::string ExplainIntervals(const std::vector<PolicySummary>& summaries);

}  // namespace fairlead::report
