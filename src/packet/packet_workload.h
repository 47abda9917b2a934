// What a packet-level simulation is asked to carry: links, connections over them, and messages that wait for each
// other.
//
// Compute is a delay between messages, so that iterations, rings of many steps and jobs beside each other are all lists
// of messages.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"

namespace fairlead::packet {

inline constexpr uint32_t kNumLevels = 8;

// One direction of a cable, with the queue before it.
struct PacketLink {
  double bytes_per_s = 0;  // on the wire; > 0
  double delay_s = 0;      // propagation; >= 0
  bool in_switch = true;   // its queue marks and trims; that of a NIC does neither
};

// A queue pair.
struct Connection {
  // Each from the NIC of the sender to that of the receiver; all have the same first and the same last link. One: the
  // path of a hash. Several: each packet takes one of them (spraying).
  std::vector<std::vector<uint32_t>> paths;
  uint32_t level = 0;  // 0 (most important) .. kNumLevels - 1
};

struct Message {
  uint32_t connection = 0;
  uint64_t bytes = 0;           // of payload; >= 1
  std::vector<uint32_t> after;  // it is ready when all of these have arrived …
  double delay_s = 0;           // … and so much time has passed since
};

struct PacketWorkload {
  std::vector<PacketLink> links;
  std::vector<Connection> connections;
  // A connection sends its messages in the order in which they become ready; of equals, the first one first.
  std::vector<Message> messages;

  // Errors: kInvalidArgument, naming link, connection or message: values outside their ranges, ids that do not exist,
  // connections without a path, messages that wait for themselves or in a circle.
  Status Validate() const;
};

}  // namespace fairlead::packet
