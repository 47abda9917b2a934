// The source ports that steer connections, as a ring: a search begins anywhere and wraps around.
#pragma once

#include <cstdint>

#include "traffic/default_paths.h"

namespace fairlead::traffic::c4p {

constexpr bool IsSteeringPort(uint16_t port) {
  static_assert(kFirstSourcePort + kNumSourcePorts == 0x10000, "the range ends where ports do");
  return port >= kFirstSourcePort;
}

// The port `offset` places after the first one.
constexpr uint16_t SteeringPort(uint64_t offset) {
  return static_cast<uint16_t>(kFirstSourcePort + offset % kNumSourcePorts);
}

}  // namespace fairlead::traffic::c4p
