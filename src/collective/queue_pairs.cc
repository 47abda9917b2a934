#include "collective/queue_pairs.h"

#include <utility>
#include <vector>

#include "base/check.h"

namespace fairlead::collective {

void SplitIntoQueuePairs(uint32_t num_queue_pairs, const topology::Fabric& fabric, model::Iteration* iteration) {
  FL_CHECK(num_queue_pairs >= 1 && num_queue_pairs <= kMaxQueuePairs);
  if (num_queue_pairs == 1) return;
  std::vector<model::FlowDemand> flows;
  // Groups of flows that were split stay behind empty.
  for (model::CommunicationPhase& phase : iteration->phases) {
    const auto first = static_cast<uint32_t>(flows.size());
    for (uint32_t f = phase.first_flow; f < phase.first_flow + phase.num_flows; ++f) {
      model::FlowDemand flow = iteration->flows[f];
      if (fabric.host_of(flow.source) == fabric.host_of(flow.destination)) {
        flows.push_back(flow);
        continue;
      }
      flow.bytes = flow.bytes * (1.0 / num_queue_pairs);
      flow.num_queue_pairs = static_cast<uint16_t>(num_queue_pairs);
      for (uint16_t q = 0; q < flow.num_queue_pairs; ++q) {
        flow.queue_pair = q;
        flow.group = iteration->num_groups++;
        flows.push_back(flow);
      }
    }
    phase.first_flow = first;
    phase.num_flows = static_cast<uint32_t>(flows.size()) - first;
  }
  iteration->flows = std::move(flows);
}

}  // namespace fairlead::collective
