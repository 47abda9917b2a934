// What a job puts on the network in one iteration: communication phases made of flows between GPUs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"

namespace fairlead::model {

// One transfer of one iteration.
struct FlowDemand {
  GpuId source;
  GpuId destination;
  Bytes bytes;  // > 0
  // Flows of one phase with the same group move in lockstep: the edges of one ring or tree, all with the same bytes.
  // The coupled level of detail makes one fluid variable of them. Dense per iteration: 0 .. num_groups-1.
  uint32_t group = 0;
  // A connection may spread its bytes over several queue pairs (QPs), each with its own five-tuple and path. They are
  // consecutive flows: this one is number `queue_pair` of `num_queue_pairs`.
  uint16_t queue_pair = 0;
  uint16_t num_queue_pairs = 1;

  friend bool operator==(const FlowDemand&, const FlowDemand&) = default;
};

// Flows that start together; the phase ends with its last flow, or later by its latency.
struct CommunicationPhase {
  std::string name;  // "dp all-reduce", "pp send/recv", …
  // The phase may start once this fraction of the iteration's compute time is done, and once the phase before it in the
  // list is over. In [0, 1], not decreasing along the list.
  double start_fraction = 1;
  // Compute stops at start_fraction until the phase is over (tensor and expert parallelism); otherwise it runs beside
  // it.
  bool blocks_compute = false;
  // Range of Iteration::flows.
  uint32_t first_flow = 0;
  uint32_t num_flows = 0;
  // Messages between hosts that wait for one another, along the longest chain: 2(n-1) of a ring all-reduce. >= 0
  double num_steps = 0;
  // For which the phase is not over although its bytes are sent: what the steps take on the way. >= 0
  Seconds latency = Seconds(0);

  friend bool operator==(const CommunicationPhase&, const CommunicationPhase&) = default;
};

// One training iteration of one placed job. It ends when all compute is done and all phases are over; then the
// next begins. Crux's model (section 4.2: one compute block C, one communication block from s*C on) is one phase.
struct Iteration {
  Seconds compute_time;  // per GPU, alone; >= 0
  // Pipeline bubble: seconds per iteration in which a GPU neither computes nor communicates; >= 0. The compute clock
  // runs over compute_time + bubble_time, and start fractions refer to that sum.
  Seconds bubble_time;
  Flop work;  // summed over all GPUs of the job
  std::vector<CommunicationPhase> phases;
  std::vector<FlowDemand> flows;  // ordered by phase
  uint32_t num_groups = 0;

  friend bool operator==(const Iteration&, const Iteration&) = default;
};

}  // namespace fairlead::model
