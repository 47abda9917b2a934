// Does the delay matrix name the slow component, and how often does it name another one? (C4, delay matrix)
#pragma once

#include "experiment/experiment.h"

namespace fairlead::experiments::c4d_delay_matrix {

Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::c4d_delay_matrix
