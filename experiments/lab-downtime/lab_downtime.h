// What is it worth that faults in real processes are found and dealt with?
#pragma once

#include "experiment/experiment.h"

namespace fairlead::experiments::lab_downtime {

Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::lab_downtime
