// Of fairlead-sim-agents.
#include "cli/simulated_agents.h"
#include "sim/hosts/host_world.h"

namespace fairlead::cli {

Result<sim::LiveTrafficFactory> FindSimulatedAgents() { return sim::LiveTrafficFactory(sim::hosts::CreateHostWorld); }

}  // namespace fairlead::cli
