// Experiment joint-health: sizes by AITurbo, routes by Crux and health by C4D in one loop, each alone and together,
// while one GPU hangs and one is slow.
#pragma once

#include "experiment/experiment.h"

namespace fairlead::experiments::joint_health {

// Simulates scenarios/joint-health.yaml under each combination, with GPUs and instants drawn for each seed. Takes a
// minute or two.
Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::joint_health
