// Beyond the paper: one job of 1,024 hosts, more queue pairs against better paths, and fifty lost links.
#pragma once

#include "experiment/experiment.h"

namespace fairlead::experiments::c4p_scale {

Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::c4p_scale
