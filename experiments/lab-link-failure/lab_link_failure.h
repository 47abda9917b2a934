// One of eight uplinks is cut under eight jobs of real processes in the lab.
#pragma once

#include "experiment/experiment.h"

namespace fairlead::experiments::lab_link_failure {

Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::lab_link_failure
