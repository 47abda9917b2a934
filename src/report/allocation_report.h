// What allocation policies did, as text: completion times and use of the cluster for each policy, and the sizes of each
// job over time.
#pragma once

#include <string>

#include "report/document.h"
#include "sim/run_result.h"

namespace fairlead::report {

// Two tables, of all policies and of the jobs of each policy under its first seed; empty where sizes are fixed. At most
// kTextWidth columns.
Document RenderAllocation(const sim::SimulationReport& report);

// "8 > 16 > - > 4": the sizes of a job in order, "-" where it waits.
std::string DescribeSizes(const sim::AllocationResult& allocation);

}  // namespace fairlead::report
