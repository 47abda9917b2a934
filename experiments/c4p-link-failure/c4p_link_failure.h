// One of eight uplinks is lost while eight jobs all-reduce (C4, Figs 11 and 12).
#pragma once

#include "experiment/experiment.h"

namespace fairlead::experiments::c4p_link_failure {

Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::c4p_link_failure
