// The paths that switches choose without steering: the hash of each connection's five-tuple.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "model/path.h"
#include "traffic/traffic_policy.h"

namespace fairlead::traffic {

// RoCE v2 source ports: 49152..65535 (0xC000..0xFFFF).
inline constexpr uint16_t kFirstSourcePort = 0xC000;
inline constexpr uint16_t kNumSourcePorts = 0x4000;

// The five-tuple of flow `flow_index` of a job: addresses are the NICs of the two GPUs, the source port is a hash of
// job, flow and GPUs, as a library would draw it at random.
model::FiveTuple FlowTuple(const topology::Fabric& fabric, JobId job, uint32_t flow_index, GpuId source,
                           GpuId destination);

// True when no link of a non-empty path is down.
bool IsHealthy(const TrafficSnapshot& snapshot, const model::Path& path);

// Paths of all flows of a job, [flow of the iteration]. A path in force stays as long as it is healthy; every other
// flow gets the path of its hash, or an empty path when failures cut it off. The queue pairs of a connection leave by
// the ports of a bonded NIC in turn. Errors: none. Cost: O(links of all paths).
std::vector<model::Path> DefaultPaths(const TrafficSnapshot& snapshot, const JobView& job);

}  // namespace fairlead::traffic
