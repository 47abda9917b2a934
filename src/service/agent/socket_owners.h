// Whose sockets are these? By /proc: what the kernel lists of a socket does not name its process.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "agent/host_agent_messages.h"
#include "base/sim_time.h"
#include "service/agent/process_owner.h"

namespace fairlead::service {

// Descriptors of the sockets that a process has open, by inode; empty when it has ended or may not be looked into.
std::map<uint64_t, int> SocketsOf(int32_t pid);

// Owners of `inodes` that would have asked the agent at `agent_socket`: training processes with FAIRLEAD_JOB in the
// environment that they began with and libfairlead-steer.so loaded, to which FAIRLEAD_AGENT_SOCKET is the same file,
// wherever their container has it. Of processes that share a socket one is named. Needs the right to trace them
// (CAP_SYS_PTRACE, or the same user); others are passed over.
// Args: jobs: for their keys; at: now. Cost: some 20 us for each process of the host, 1 us for each descriptor of
// training processes.
std::vector<agent::SocketOwner> FindSocketOwners(std::span<const uint64_t> inodes, const std::string& agent_socket,
                                                 JobIdentifier* jobs, SimTime at);

}  // namespace fairlead::service
