// Over which routers does a TCP connection go, for each source port that it could have?
//
// Method      connections are opened with a small TTL: the router where it runs out identifies itself (ICMP "time
//             exceeded"), and the kernel hands that to the socket (IP_RECVERR). These are the data's own protocol and
//             ports, so that switches hash them as they would the data; no raw socket and no privilege is needed. A hop
//             that says nothing is asked again: routers limit how often they answer.
// Cost        one SYN per port, hop and attempt. A probe that gets as far as the destination opens a connection and
//             resets it, or is refused.
// Differs     the specification (c4.md section 9.2) leaves the mechanism open; on RoCE fabrics the same is done with
//             UDP.
// Oracle      `ip route get ... iif ... sport ... dport ...` on the router (tests/e2e/agent_probe_test.py).
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "base/ip_address.h"
#include "base/status.h"
#include "base/units.h"

namespace fairlead::service {

struct PathProbeOptions {
  IpAddress destination;
  uint16_t destination_port = 0;
  IpAddress source;  // unset: the kernel's choice
  std::vector<uint16_t> source_ports;
  // Hops 1 is the first router. Range 1..64, first <= last. A port's later hops are left out once the destination was
  // reached.
  uint32_t first_hop = 1;
  uint32_t last_hop = 8;
  // How long a hop may take to answer. Shorter: less waiting for silent ones. Longer: slow ones are not missed.
  std::chrono::milliseconds timeout{300};
  // Times a silent hop is asked. More: fewer answers are lost to routers' limits.
  uint32_t num_attempts = 3;
  // Probes under way at once, each with a socket. More: faster, and more answers lost to limits.
  uint32_t num_in_flight_max = 128;
};

struct ProbedHop {
  enum class Kind : uint8_t {
    kSilent,       // no answer
    kRouter,       // the TTL ran out there
    kUnreachable,  // a router that knows no way on
    kDestination,  // accepted or refused the connection
  };
  Kind kind = Kind::kSilent;
  IpAddress address;  // the router that answered; unset for silent hops
  Seconds rtt;        // 0 for silent hops

  friend bool operator==(const ProbedHop&, const ProbedHop&) = default;
};

struct ProbedPath {
  uint16_t source_port = 0;
  bool is_taken = false;        // the port is in use on this host: not probed
  std::vector<ProbedHop> hops;  // [hop - first_hop]
};

// Blocks until all hops have answered or had their attempts. Returns one path for each source port, in their order.
// Errors: kInvalidArgument  options out of range; kUnavailable  this host has no way to the destination, or may not
// open sockets: says why.
Result<std::vector<ProbedPath>> ProbePaths(const PathProbeOptions& options);

}  // namespace fairlead::service
