// Over which routers do the packets of an established connection go?
//
// Problem     a port that a connection has can't be probed by opening another one beside it (path_probe.h).
// Method      segments with the connection's addresses and ports and a small TTL are sent past its socket: the routers
//             answer as they do for SYNs, and quote the segment's sequence number, which says which probe it was. None
//             gets as far as the destination: `last_hop` must be below it. The way out of the host is looked up with
//             the ports, as the kernel does for the connection itself, because raw sockets have none.
// Guarantees  the connection sees nothing: its own host drops what routers say about sequence numbers that it has not
//             sent (those here are drawn at random).
// Limits      IPv4; needs CAP_NET_RAW. Of a port that is rewritten on the way out (port_rewriter.h) nothing is seen.
//             Where a host itself routes over several interfaces, the kernel's answer is the path of its own sockets
//             under fib_multipath_hash_policy=1, and not under 3 (Linux 6.18).
#pragma once

#include <vector>

#include "base/status.h"
#include "service/agent/path_probe.h"

namespace fairlead::service {

// Fills in the hops of those paths that are taken, where the last hop answers; others stay without. Blocks: at most
// `num_attempts` times `timeout`. Args: options as for ProbePaths(), with a source; paths: what it returned.
// Errors: kFailedPrecondition: no right to send raw packets, or IPv6.
Status ProbeTakenPorts(const PathProbeOptions& options, std::vector<ProbedPath>* paths);

}  // namespace fairlead::service
