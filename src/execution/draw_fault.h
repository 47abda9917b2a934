// A random fault of a given kind, in a place where the job feels it: for experiments over many runs.
#pragma once

#include <optional>

#include "base/random.h"
#include "base/sim_time.h"
#include "execution/fault.h"
#include "execution/job_shape.h"
#include "execution/noise.h"
#include "model/telemetry.h"

namespace fairlead::execution {

// The fault begins at `begin` and never ends; its strength matters to the job. Nothing: the job has no such place, for
// example no connection on the network.
std::optional<Fault> DrawFault(FaultKind kind, const JobShape& shape, const model::JobLayout& layout, SimTime begin,
                               Random& random, const NoiseOptions& noise = {});

}  // namespace fairlead::execution
