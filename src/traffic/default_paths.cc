#include "traffic/default_paths.h"

#include <algorithm>

#include "base/check.h"
#include "base/random.h"

namespace fairlead::traffic {

model::FiveTuple FlowTuple(const topology::Fabric& fabric, JobId job, uint32_t flow_index, GpuId source,
                           GpuId destination) {
  const uint64_t connection =
      CombineHash(CombineHash(job.value(), flow_index), (uint64_t{source.value()} << 32) | destination.value());
  model::FiveTuple tuple;
  tuple.source_address = fabric.nic_of(source).value();
  tuple.destination_address = fabric.nic_of(destination).value();
  tuple.source_port = static_cast<uint16_t>(kFirstSourcePort + connection % kNumSourcePorts);
  return tuple;
}

bool IsHealthy(const TrafficSnapshot& snapshot, const model::Path& path) {
  if (snapshot.health == nullptr) return true;
  return std::all_of(path.begin(), path.end(), [&](LinkId link) { return (*snapshot.health)[link] > 0; });
}

std::vector<model::Path> DefaultPaths(const TrafficSnapshot& snapshot, const JobView& job) {
  const std::vector<model::FlowDemand>& flows = job.iteration->flows;
  FL_CHECK_MSG(job.paths.empty() || job.paths.size() == flows.size(), "paths in force must be one per flow");
  std::vector<model::Path> paths(flows.size());
  for (size_t f = 0; f < flows.size(); ++f) {
    const bool in_force = !job.paths.empty() && !job.paths[f].empty();
    if (in_force && IsHealthy(snapshot, job.paths[f])) {
      paths[f] = job.paths[f];
      continue;
    }
    const model::FlowDemand& flow = flows[f];
    const model::FiveTuple tuple =
        FlowTuple(snapshot.router->fabric(), job.id, static_cast<uint32_t>(f), flow.source, flow.destination);
    // The driver of a bonded NIC deals out queue pairs to its ports in turn.
    const auto port = flow.num_queue_pairs > 1 ? std::optional<uint32_t>(flow.queue_pair) : std::nullopt;
    snapshot.router->AppendEcmpPath(flow.source, flow.destination, tuple, snapshot.hash_seed, &paths[f], port);
  }
  return paths;
}

}  // namespace fairlead::traffic
