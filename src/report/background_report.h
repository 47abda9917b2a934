// What became of the traffic beside training, key/value caches and checkpoints, in sentences.
#pragma once

#include <string>
#include <vector>

#include "sim/run_result.h"

namespace fairlead::report {

// One sentence for each policy and stream; means over its seeds. Plain text.
std::vector<std::string> DescribeBackground(const sim::SimulationReport& report);

}  // namespace fairlead::report
