// Congestion notifications on a 2:1 fabric (C4, Fig. 10).
#pragma once

#include "experiment/experiment.h"

namespace fairlead::experiments::c4p_congestion {

Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::c4p_congestion
