// Experiment joint: sizes by AITurbo, paths and priorities by Crux and C4P, each alone and together.
#pragma once

#include "experiment/experiment.h"

namespace fairlead::experiments::joint {

// Simulates scenarios/joint.yaml under each pair of policies. Takes a minute or two. The seed is the first hash seed.
Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::joint
