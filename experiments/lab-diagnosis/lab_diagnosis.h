// What is found of faults in real processes, how soon, how soon the job goes on; and what that is worth.
#pragma once

#include "experiment/experiment.h"

namespace fairlead::experiments::lab_diagnosis {

Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::lab_diagnosis
