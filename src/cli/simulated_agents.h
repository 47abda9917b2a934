// Scenarios with `detail: agents` need the cores of controller and agents, which other scenarios do without: the
// program `fairlead-sim-agents` is `fairlead` with these linked. Two sources define the function below, one for each.
#pragma once

#include "base/status.h"
#include "sim/live_traffic.h"

namespace fairlead::cli {

// What simulates agents. In `fairlead` this call becomes fairlead-sim-agents, in the folder of this program, with the
// same arguments, and does not return. Errors: kUnavailable: that program is not there.
Result<sim::LiveTrafficFactory> FindSimulatedAgents();

}  // namespace fairlead::cli
