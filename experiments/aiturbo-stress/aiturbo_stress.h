// Experiment aiturbo-stress: more jobs than the cluster can do, users who err or say nothing, nodes that fail, and
// restarts that are dear, one after the other and all at once.
#pragma once

#include "experiment/experiment.h"

namespace fairlead::experiments::aiturbo_stress {

// 2,000 jobs on 64 GPUs under each allocation policy that comes near the best anywhere. Takes ten minutes of CPU or so.
Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::aiturbo_stress
