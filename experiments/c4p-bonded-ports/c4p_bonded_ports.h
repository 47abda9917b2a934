// Balance of the two ports of a bonded NIC (C4, Fig. 8).
#pragma once

#include "experiment/experiment.h"

namespace fairlead::experiments::c4p_bonded_ports {

Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::c4p_bonded_ports
