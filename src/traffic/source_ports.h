// The source ports that steer connections, as a ring: a search begins anywhere and wraps around.
//
// Of TCP the kernel binds a port only where it lies in net.ipv4.ip_local_port_range (32768 to 60999 by default), and
// packets of an open connection can get any port. So the ring is divided: sockets are given ports of the lower part,
// rewriting uses the upper one, which the kernel gives to no other connection on its own: its first packet would arrive
// as one of the rewritten connection.
#pragma once

#include <cstdint>

#include "traffic/default_paths.h"

namespace fairlead::traffic {

constexpr bool IsSteeringPort(uint16_t port) {
  static_assert(kFirstSourcePort + kNumSourcePorts == 0x10000, "the range ends where ports do");
  return port >= kFirstSourcePort;
}

// The port `offset` places after the first one.
constexpr uint16_t SteeringPort(uint64_t offset) {
  return static_cast<uint16_t>(kFirstSourcePort + offset % kNumSourcePorts);
}

// Ports for one use, both ends included.
struct PortRange {
  uint16_t first = kFirstSourcePort;
  uint16_t last = 0xFFFF;

  constexpr bool Contains(uint16_t port) const { return first <= port && port <= last; }
};

// Default end of net.ipv4.ip_local_port_range.
inline constexpr uint16_t kLastEphemeralPort = 60999;

// Args: protocol: 6 = TCP; is_open: the socket has its port already, and packets are rewritten.
constexpr PortRange PortsFor(uint8_t protocol, bool is_open) {
  if (protocol != 6) return {};
  return is_open ? PortRange{.first = kLastEphemeralPort + 1} : PortRange{.last = kLastEphemeralPort};
}

}  // namespace fairlead::traffic
