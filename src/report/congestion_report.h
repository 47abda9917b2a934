// Cost of congestion control, in sentences: how many CNPs came back, and what full links lost to the saw-tooth of
// rates.
#pragma once

#include <string>
#include <vector>

#include "sim/run_result.h"

namespace fairlead::report {

// One sentence for each policy whose runs modelled congestion control; means over its seeds. Plain text.
std::vector<std::string> DescribeCongestion(const sim::SimulationReport& report);

}  // namespace fairlead::report
