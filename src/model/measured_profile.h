// What the hosts of a job have found out about one of its iterations by watching counters, without asking the job.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/units.h"
#include "model/flow.h"

namespace fairlead::model {

struct MeasuredProfile {
  Seconds iteration_time;         // alone, or with no job ahead of it; > 0
  Seconds compute_time;           // of iteration_time, not waiting for the network
  double start_fraction = 1;      // share of compute_time that is done before communication starts, 0..1
  Flop work;                      // per iteration, all GPUs
  std::vector<Bytes> flow_bytes;  // [flow] per iteration; 0 for connections that carried nothing
  // False: iterations could not be distinguished, and all values are of a long stretch. Intensity is right for it all
  // the same.
  bool is_period_known = true;

  friend bool operator==(const MeasuredProfile&, const MeasuredProfile&) = default;
};

// The iteration as policies shall see it: one block of compute and one of communication (Crux section 4.2) over the
// connections of `actual`, of which only the endpoints and groups are read. Flows of no bytes keep a byte, so that flow
// indices stay what they are.
inline Iteration MakeMeasuredIteration(const Iteration& actual, const MeasuredProfile& measured) {
  Iteration iteration;
  iteration.compute_time = measured.compute_time;
  iteration.work = measured.work;
  iteration.flows = actual.flows;
  iteration.num_groups = actual.num_groups;
  for (size_t f = 0; f < iteration.flows.size(); ++f) {
    iteration.flows[f].bytes = std::max(Bytes(1), measured.flow_bytes[f]);
  }
  if (iteration.flows.empty()) return iteration;
  iteration.phases.push_back({.name = "measured",
                              .start_fraction = measured.start_fraction,
                              .blocks_compute = false,
                              .first_flow = 0,
                              .num_flows = static_cast<uint32_t>(iteration.flows.size())});
  return iteration;
}

}  // namespace fairlead::model
