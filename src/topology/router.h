// Which equal-cost paths join two GPUs, and which one the switches' hash would take.
//
// Paths are computed, never listed: a path is an index below CountPaths, turned into links by AppendPath. Between hosts a
// path is GPU -> its NIC, the shortest ways NIC -> … -> NIC through the network (over every port of a bonded NIC), NIC -> GPU.
// Inside a host there is one path: NVLink where both GPUs have it, PCIe otherwise.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "model/path.h"
#include "topology/fabric.h"

namespace fairlead::topology {

// Capacity that is left of each link, as a fraction: 1 healthy, 0 down.
using LinkHealth = IdVector<LinkId, double>;

// Thread: const methods fill caches; one Router per thread.
class Router {
 public:
  // `fabric` must outlive the router. All links healthy.
  explicit Router(const Fabric& fabric);

  const Fabric& fabric() const { return *fabric_; }

  // Links with health 0 carry no path from now on.
  void SetHealth(const LinkHealth& health);

  // Number of equal-cost paths; 0 when failures cut the two GPUs apart. source != destination.
  uint64_t CountPaths(GpuId source, GpuId destination) const;

  // Appends the links of path `index` < CountPaths, from GPU to GPU. Indices order paths by the ports chosen, first hop
  // most significant, so that equal indices of one pair stay equal as long as health does.
  void AppendPath(GpuId source, GpuId destination, uint64_t index, model::Path* path) const;

  // Appends the path that ECMP takes: each node hashes the five-tuple with its own seed (derived from `seed`) and picks one of
  // its equal-cost next links. Returns false, appending nothing, when there is no path.
  bool AppendEcmpPath(GpuId source, GpuId destination, const model::FiveTuple& tuple, uint64_t seed,
                      model::Path* path) const;

 private:
  const Fabric* fabric_;
};

}  // namespace fairlead::topology
