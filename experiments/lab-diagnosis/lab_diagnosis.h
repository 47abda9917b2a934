// What is found of faults in real processes, how soon, and how soon does the job go on?
#pragma once

#include "experiment/experiment.h"

namespace fairlead::experiments::lab_diagnosis {

Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::lab_diagnosis
