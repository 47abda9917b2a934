// What is published of sprayed fabrics that lose links (MRC) and of minimal splits (Ethereal), rebuilt where settings
// are known.
#pragma once

#include "base/status.h"
#include "experiment/experiment.h"

namespace fairlead::experiments::sprayed_failures {

Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::sprayed_failures
