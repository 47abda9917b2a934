// Experiment aiturbo-decision-time: how long a decision takes, against the size of the cluster.
#pragma once

#include "experiment/experiment.h"

namespace fairlead::experiments::aiturbo_decision_time {

// Takes seconds. The seed draws the jobs; times are of this machine.
Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::aiturbo_decision_time
