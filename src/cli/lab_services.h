// The controller and the agents of a lab, as the commands of `fairlead lab` start and find them.
#pragma once

#include <string>

#include "base/status.h"
#include "lab/lab_folder.h"
#include "lab/lab_state.h"
#include "topology/fabric.h"

namespace fairlead::cli {

// Starts them and returns the address of the page. Args: page: "HOST:PORT", or "any" for a free port of this machine;
// policy: of traffic/live_policy.h.
Result<std::string> StartLabServices(const lab::LabState& state, const topology::Fabric& fabric,
                                     const lab::LabFolder& folder, const std::string& page, const std::string& policy);

}  // namespace fairlead::cli
