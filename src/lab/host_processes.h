// The processes of a host of a lab: those in its network, how they end together, how its daemons are restarted.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/status.h"
#include "lab/keeper.h"

namespace fairlead::lab {

// A daemon as it was started (StartDaemon), with all data to start it again.
struct HostDaemon {
  std::vector<std::string> args;
  std::string log;

  friend bool operator==(const HostDaemon&, const HostDaemon&) = default;
};

// All that run in the network of a node, but for the process that holds the lab. Ascending.
std::vector<pid_t> FindProcesses(const KeeperId& keeper, LabNodeId node);

// Kills them all at once, as a power cut does. Returns the daemons among them.
std::vector<HostDaemon> KillProcesses(const KeeperId& keeper, LabNodeId node);

// Errors: those of StartDaemon().
Status StartDaemons(const KeeperId& keeper, LabNodeId node, const std::vector<HostDaemon>& daemons);

}  // namespace fairlead::lab
