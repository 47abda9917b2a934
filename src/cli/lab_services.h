// The controller, the agents and the Slurm of a lab, as the commands of `fairlead lab` start and find them.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "lab/lab_folder.h"
#include "lab/lab_state.h"
#include "topology/fabric.h"

namespace fairlead::cli {

struct LabServicesWish {
  std::string page;                      // "HOST:PORT", or "any" for a free port of this machine
  std::string policy;                    // of traffic/live_policy.h
  bool has_slurm = false;                // one is up: the controller sizes its elastic jobs and replaces their hosts
  std::vector<std::string> spares = {};  // hosts that it keeps for that
};

// Starts controller and agents, and returns the address of the page.
Result<std::string> StartLabServices(const lab::LabState& state, const topology::Fabric& fabric,
                                     const lab::LabFolder& folder, const LabServicesWish& wish);

// Starts Slurm, before the services. Args: spares: hosts of the fabric. Errors: kInvalidArgument: one is no host; those
// of lab::StartSlurm().
Status StartLabSlurm(const lab::LabState& state, const topology::Fabric& fabric, const lab::LabFolder& folder,
                     const std::vector<std::string>& spares);

}  // namespace fairlead::cli
