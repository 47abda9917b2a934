// What messages take on the way, beside their bytes: how much longer a phase lasts than its links need to carry it.
//
// Problem     A fluid engine moves bytes. A ring of a thousand GPUs with small buffers is bound by its two thousand
//             steps instead.
// Method      alpha-beta model: a phase takes its bytes' time and then steps * (ends + switches * hop), with the steps
//             of its longest chain of messages and the switches of its longest path between hosts. Bytes on NVLink and
//             PCIe have no latency of their own, nor have phases that never leave a host.
// Numbers     One message of 2 bytes takes 5.09 us over one switch and 6.54 us over three (400G NICs, multipath
//             reliable connection): 0.725 us for each switch and 4.365 us for both ends.
// Reference   Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in MPICH, IJHPCA
//             2005; MRC, arXiv 2605.04333 (the measured latencies).
#pragma once

#include "base/units.h"
#include "model/flow.h"
#include "topology/router.h"

namespace fairlead::collective {

struct MessageLatency {
  Seconds ends = Seconds(4.365e-6);  // NICs and hosts of both sides; >= 0
  Seconds hop = Seconds(0.725e-6);   // a switch with one of its links; >= 0
};

// Sets CommunicationPhase::latency of all phases. Equal-cost paths are equally long, so it holds for all choices.
// Cost: one look at a path for each flow between hosts.
void SetLatencies(const MessageLatency& message, const topology::Router& router, model::Iteration* iteration);

}  // namespace fairlead::collective
