#include "collective/phase_latency.h"

#include <algorithm>

namespace fairlead::collective {
namespace {

// Of the longest path between hosts; 0 where no flow leaves its host or failures cut all off.
size_t MostSwitches(const model::CommunicationPhase& phase, const topology::Router& router,
                    const model::Iteration& iteration) {
  size_t most = 0;
  for (uint32_t f = phase.first_flow; f < phase.first_flow + phase.num_flows; ++f) {
    const model::FlowDemand& flow = iteration.flows[f];
    const topology::Fabric& fabric = router.fabric();
    if (flow.queue_pair > 0 || fabric.host_of(flow.source) == fabric.host_of(flow.destination)) continue;
    const topology::PathCandidates candidates = router.FindCandidates(flow.source, flow.destination, 1);
    // Links from NIC to NIC, with a switch between each two.
    if (candidates.size() > 0) most = std::max(most, candidates.middle_length - 1);
  }
  return most;
}

}  // namespace

void SetLatencies(const MessageLatency& message, const topology::Router& router, model::Iteration* iteration) {
  for (model::CommunicationPhase& phase : iteration->phases) {
    const size_t switches = MostSwitches(phase, router, *iteration);
    const Seconds step = switches > 0 ? message.ends + message.hop * static_cast<double>(switches) : Seconds(0);
    phase.latency = step * phase.num_steps;
  }
}

}  // namespace fairlead::collective
