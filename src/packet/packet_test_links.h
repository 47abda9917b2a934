// What the tests of this module send over: links of 100 Gb/s and 0.5 us, packets of 9,000 bytes in 9,078.
#pragma once

#include <cstdint>
#include <vector>

#include "packet/packet_workload.h"

namespace fairlead::packet {

inline constexpr double kSpeed = 12.5e9;
inline constexpr double kDelay = 0.5e-6;
inline constexpr double kPacketS = 9078 / kSpeed;

inline PacketLink Nic(double speed = kSpeed) { return {.bytes_per_s = speed, .delay_s = kDelay, .in_switch = false}; }
inline PacketLink Port(double speed = kSpeed) { return {.bytes_per_s = speed, .delay_s = kDelay, .in_switch = true}; }

// NICs (links 0 …) that share a last link, each with one message of so many bytes.
inline PacketWorkload SharedLink(const std::vector<uint64_t>& bytes) {
  PacketWorkload workload;
  const auto last = static_cast<uint32_t>(bytes.size());
  for (uint32_t s = 0; s < last; ++s) workload.links.push_back(Nic());
  workload.links.push_back(Port());
  for (uint32_t s = 0; s < last; ++s) {
    workload.connections.push_back({.paths = {{s, last}}});
    workload.messages.push_back({.connection = s, .bytes = bytes[s], .after = {}});
  }
  return workload;
}

}  // namespace fairlead::packet
