// Right syndrome and right culprit on thousands of simulated jobs with every kind of fault; silence on healthy ones.
#pragma once

#include "experiment/experiment.h"

namespace fairlead::experiments::c4d_confusion {

Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::c4d_confusion
