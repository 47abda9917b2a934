// A PyTorch job that knows nothing of us beside jobs of the lab: nothing decided, and paths and priorities.
#pragma once

#include "experiment/experiment.h"

namespace fairlead::experiments::lab_torch {

Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::lab_torch
