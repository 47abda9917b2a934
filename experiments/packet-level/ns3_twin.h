// The same small case in ns-3: TCP with DCTCP instead of RDMA, by people who never saw our packet model.
//
// Method      one point-to-point link for each cable, with RED queues in switches and NICs that mark between the
//             thresholds of packet/packet_simulation.h. A connection keeps to its spine by routes to an
//             address of its own; one that is sprayed has each packet sent over a spine drawn by chance. Levels are
//             bands of a strict-priority queue.
// Differs     from our packet model: acknowledgements take bandwidth, windows instead of rates react to marks (DCTCP,
//             g = 1/16, first window of ten packets), a packet lost is sent again. Links are slower by what Ethernet
//             has and ns-3's point-to-point frames lack, so that 9,000 bytes of payload take as long here as there.
// Needs       libns3-dev (3.37 was measured).
#pragma once

#include <cstdint>

#include "experiments/packet-level/twin_case.h"

namespace fairlead::experiments::packet_level {

struct Ns3Times {
  TwinTimes times;       // connections are open at 0
  uint64_t dropped = 0;  // packets that a full queue threw away
  uint64_t marked = 0;   // packets of data
};

// Not from several threads: ns-3 has one clock for a process.
// Args: seed: of marks and, where packets are sprayed, of spines.
Ns3Times RunNs3(const TwinCase& twin, uint64_t seed);

}  // namespace fairlead::experiments::packet_level
