// When the nodes of one rank's trace run, if communication took no time: the position of each collective on the compute
// clock, and how much compute may overlap it.
//
// Problem     a graph of computations (known lengths) and communications (unknown lengths, they depend on the cluster).
// Method      list scheduling on two streams, one for compute and one for communication, each in order: nodes are taken
//             in topological order, the lowest id first, which is the order in which a framework issued them.
//             1. a computation starts on the compute clock behind the one before it;
//             2. a communication is issued when the computations that it depends on are done, and not before the
//                communication before it;
//             3. the first computation that depends on a communication, directly or not, waits for it and, the stream
//                being in order, for all before it. Compute between issue and that wait may hide it.
// Cost        O(nodes log nodes + dependencies).
// Guarantees  order respects every dependency; positions of collectives never decrease.
// Reference   Graham, Bounds on multiprocessing timing anomalies, 1969 (list scheduling).
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "workload/chakra_trace.h"

namespace fairlead::workload {

struct ScheduledCommunication {
  uint32_t node = 0;  // index in ChakraTrace::nodes
  Seconds issue;      // position on the compute clock
  Seconds wait;       // position of the first computation that waits; collective::kUntilEnd
};

struct ChakraSchedule {
  Seconds compute;
  std::vector<ScheduledCommunication> communications;  // as issued
};

// Errors: kInvalidArgument: two nodes with one id, a dependency on a node that is not there, a circle.
Result<ChakraSchedule> ScheduleChakraTrace(const ChakraTrace& trace);

}  // namespace fairlead::workload
