// Packet spraying as the fluid model sees it, and the transports of today as settings of it.
#pragma once

#include <cstdint>
#include <optional>

#include "base/status.h"
#include "base/units.h"

namespace fairlead::traffic::spray {

// How a flow is divided over its equal-cost paths.
enum class Split : uint8_t {
  kAdaptive,   // by what the paths can carry: path-aware entropy values, adaptive routing in switches
  kOblivious,  // alike over all live paths, whatever they can carry
};

// What a NIC that takes packets in order only makes of spraying: it sends again all that is under way for each packet
// that is out of order.
struct GoBackN {
  double loss_per_rtt = 0;  // share of the packets of a round trip that come out of order, [0, 1]
  double bdp_packets = 0;   // under way: rate x round trip / MTU, >= 0

  // 1 / (1 + loss_per_rtt * bdp_packets).
  double Efficiency() const { return 1 / (1 + loss_per_rtt * bdp_packets); }
};

struct SprayOptions {
  static constexpr uint32_t kMostPaths = 256;

  Split split = Split::kAdaptive;
  // Share of a network link's payload that is left: retransmissions, reordering, probes of paths. In (0, 1]. MRC reached
  // 770 of 800 Gb/s.
  double efficiency = 0.96;
  // Most paths of a flow, evenly spaced where there are more; entropy values beyond the number of paths double them.
  // In [2, kMostPaths]. Fewer: cheaper to simulate, less even.
  uint32_t paths = 128;
  // How long senders go on sending a dead path's share, which is lost and sent again; >= 0. Slower: each failure costs
  // its share for longer. What comes back is used at once.
  Seconds detect = Seconds(0);
  // The same for the port of a NIC, where that is longer than `detect`: an entropy value stands for a port at both ends,
  // and those of a dead one are dealt out to other ports by software. >= 0.
  Seconds remap = Seconds(0);
  // From the last byte of a message until all its packets are in order; >= 0. 0: packets are put where they belong as
  // they come.
  Seconds reorder = Seconds(0);

  // Errors: kInvalidArgument, naming the option, its range and what was found.
  Status Validate() const;
};

enum class Preset : uint8_t {
  kNone,       // 128 paths, by capacity; failures are known at once
  kUec,        // UEC 1.0: 256 entropy values, path-aware; 100 us
  kMrc,        // MRC: 256 entropy values, path-aware; a loss takes a path out, 50 us; ports are remapped in 3 s
  kSpectrumX,  // adaptive routing in the switches, which hear of failures elsewhere in 1 ms
  kBlind,      // all paths alike until routing has converged, 1 s
};

// Reference  specification "rivals and fabrics", sections 4.1 and 4.2, where it says which of these are published.
SprayOptions OptionsOf(Preset preset);

}  // namespace fairlead::traffic::spray
