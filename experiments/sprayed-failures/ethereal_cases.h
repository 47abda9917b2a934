// Ethereal's setting in the fluid model: collectives of 256 hosts under 16 leaves and 16 spines.
#pragma once

#include "base/status.h"
#include "experiment/experiment.h"

namespace fairlead::experiments::sprayed_failures {

// Completion of collectives over splits, spray and hashes, with all links and one lost; the fullest link under splits
// and spray, and the flows that splits add. A reduced run has a quarter of the hosts.
Status AddCollectives(const experiment::RunContext& context, experiment::Outcome* outcome);

}  // namespace fairlead::experiments::sprayed_failures
