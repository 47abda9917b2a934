// How well can predictable jobs be distinguished from others? (AITurbo's classifier)
#pragma once

#include "experiment/experiment.h"

namespace fairlead::experiments::aiturbo_classifier {

Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::aiturbo_classifier
