// The TCP sockets of this host, as the kernel lists them, and the traffic class of those of other processes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "agent/host_agent_messages.h"
#include "base/status.h"

namespace fairlead::service {

// All TCP sockets of this network namespace that are connected or about to be, IPv4 and IPv6, by SOCK_DIAG; no right is
// needed. Cost: the kernel goes through its table of all namespaces' sockets twice (262,144 buckets on a machine of
// 24 GiB: 0.4 ms each), and about 1 us a socket.
// Errors: kUnavailable: the kernel does not say; why.
Result<std::vector<agent::SeenSocket>> ListTcpSockets();

// Those of `wanted` that are connected, whatever else there is. No right is needed.
// Cost: about 3 us for each of them.
// Errors: as above.
Result<std::vector<agent::SeenSocket>> LookUpTcpSockets(std::span<const agent::SocketPair> wanted);

// Sets the class of sockets of other processes: takes a copy of the descriptor (pidfd_getfd, Linux 5.6), so the right
// to trace the process is needed (CAP_SYS_PTRACE, or the same user). Sockets that are gone are passed over.
// Errors: kFailedPrecondition: at least one could not be set, and why.
Status SetSocketClasses(std::span<const agent::SetSocketClass> classes);

}  // namespace fairlead::service
