// CASSINI's published setting: 24 hosts with one A100 and one port of 50 Gb/s each, and jobs that come and go; with
// hashed paths, CASSINI's shifts alone, its placements as well, and Crux.
#pragma once

#include "base/status.h"
#include "experiment/experiment.h"

namespace fairlead::experiments::cassini {

Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::cassini
