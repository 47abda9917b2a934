// Balance of the two ports of bonded NICs in the lab (C4, Fig. 8), the simulator beside it.
#pragma once

#include "experiment/experiment.h"

namespace fairlead::experiments::lab_bonded_ports {

Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::lab_bonded_ports
