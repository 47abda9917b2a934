// What is left of Crux and C4P where the fabric spreads traffic by itself: over hashes, flowlets, minimal splits and
// packet spraying.
#pragma once

#include "base/status.h"
#include "experiment/experiment.h"

namespace fairlead::experiments::spraying {

Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::spraying
