#include "collective/rail_forwarding.h"

#include <utility>
#include <vector>

namespace fairlead::collective {
namespace {

uint32_t RailOfGpu(const topology::Fabric& fabric, GpuId gpu) {
  return fabric.nic_of(gpu).value() - fabric.first_nic(fabric.host_of(gpu)).value();
}

// A GPU of the sender's host on the receiver's rail; the sender where it is on that rail, or no GPU is.
GpuId RelayOf(const topology::Fabric& fabric, const model::FlowDemand& flow) {
  const HostId host = fabric.host_of(flow.source);
  const uint32_t rail = RailOfGpu(fabric, flow.destination);
  if (RailOfGpu(fabric, flow.source) == rail) return flow.source;
  const uint32_t first = fabric.first_gpu(host).value();
  const uint32_t place = flow.destination.value() - fabric.first_gpu(fabric.host_of(flow.destination)).value();
  if (place < fabric.num_gpus_of(host) && RailOfGpu(fabric, GpuId(first + place)) == rail) return GpuId(first + place);
  for (uint32_t g = 0; g < fabric.num_gpus_of(host); ++g) {
    if (RailOfGpu(fabric, GpuId(first + g)) == rail) return GpuId(first + g);
  }
  return flow.source;
}

}  // namespace

void ForwardByRail(const topology::Fabric& fabric, model::Iteration* iteration) {
  std::vector<model::FlowDemand> flows;
  flows.reserve(iteration->flows.size());
  for (model::CommunicationPhase& phase : iteration->phases) {
    const auto first = static_cast<uint32_t>(flows.size());
    for (uint32_t f = phase.first_flow; f < phase.first_flow + phase.num_flows; ++f) {
      model::FlowDemand flow = iteration->flows[f];
      const bool leaves_host = fabric.host_of(flow.source) != fabric.host_of(flow.destination);
      const GpuId relay = leaves_host ? RelayOf(fabric, flow) : flow.source;
      if (relay != flow.source) flows.push_back({flow.source, relay, flow.bytes, flow.group});
      flow.source = relay;
      flows.push_back(flow);
    }
    phase.first_flow = first;
    phase.num_flows = static_cast<uint32_t>(flows.size()) - first;
  }
  iteration->flows = std::move(flows);
}

}  // namespace fairlead::collective
