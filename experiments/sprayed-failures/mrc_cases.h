// MRC's failures, rings and incast in the fluid model, as far as their settings are known.
#pragma once

#include "base/status.h"
#include "experiment/experiment.h"

namespace fairlead::experiments::sprayed_failures {

// Each sets the rows that it is about. Errors: none that a user can cause. Nothing is set once the run is to stop.

// What links, ports and switches that are lost, or flap, cost those that send at full speed.
Status AddFailures(const experiment::RunContext& context, experiment::Outcome* outcome);
// What a failure costs until it is noticed, under each preset.
Status AddDetection(const experiment::RunContext& context, experiment::Outcome* outcome);
// Rings of 64 NICs over hashes, with one and 16 queue pairs, and sprayed.
Status AddRings(const experiment::RunContext& context, experiment::Outcome* outcome);
// Seven senders to one receiver, and a flow between two others.
Status AddIncast(const experiment::RunContext& context, experiment::Outcome* outcome);

}  // namespace fairlead::experiments::sprayed_failures
