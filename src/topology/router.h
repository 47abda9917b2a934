// Which equal-cost paths join two GPUs, and which one the switches' hash would take.
//
// Paths are computed, never listed: a path is an index below CountPaths, turned into links by AppendPath. Between hosts
// a path is GPU -> its NIC, the shortest ways NIC -> … -> NIC through the network (over every port of a bonded NIC),
// NIC -> GPU. Inside a host there is one path: NVLink where both GPUs have it, PCIe otherwise. No path passes through a
// third GPU or NIC.
//
// A planner that weighs all paths of a pair asks for them at once:
//
//     const PathCandidates candidates = router.FindCandidates(source, destination, 128);
//     for (size_t i = 0; i < candidates.size(); ++i) Weigh(candidates.middle(i));
//     path = candidates.Path(best);
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "model/path.h"
#include "topology/fabric.h"

namespace fairlead::topology {

// Capacity that is left of each link, as a fraction: 1 healthy, 0 down.
using LinkHealth = IdVector<LinkId, double>;

class HostRoutes;
class NetworkRoutes;

// Equal-cost paths of one pair of GPUs: head + middle(i) + tail. All paths of a pair are equally long and share head
// (GPU to NIC) and tail (NIC to GPU). Inside a host the one path is the head, and its middle is empty.
class PathCandidates {
 public:
  std::span<const LinkId> head;
  std::span<const LinkId> tail;
  std::span<const LinkId> middles;  // [size()][middle_length], flattened
  size_t middle_length = 0;
  uint64_t num_paths = 0;  // CountPaths
  size_t num_candidates = 0;

  size_t size() const { return num_candidates; }
  std::span<const LinkId> middle(size_t i) const { return middles.subspan(i * middle_length, middle_length); }
  // Index of candidate i as AppendPath knows it.
  uint64_t PathIndex(size_t i) const;
  model::Path Path(size_t i) const;
};

// Thread: const methods fill caches; one Router per thread.
class Router {
 public:
  // Memory for the caches of routes. A route table takes 16 bytes per network switch and is kept per set of leaves that
  // NICs hang on; more memory means fewer recomputations in fabrics of more than a few thousand leaves.
  static constexpr size_t kDefaultCacheBytes = 64u << 20;

  // `fabric` must outlive the router. All links healthy.
  explicit Router(const Fabric& fabric, size_t cache_bytes = kDefaultCacheBytes);
  ~Router();
  Router(Router&&) noexcept;
  Router& operator=(Router&&) noexcept;

  const Fabric& fabric() const { return *fabric_; }

  // Links with health 0 carry no path from now on. `health` has one entry per link.
  // Cost: O(links); caches are dropped only when a link went down or came back.
  void SetHealth(const LinkHealth& health);

  // Number of equal-cost paths; 0 when failures cut the two GPUs apart; at most 2^64-1, even if there are more.
  // source != destination. Cost: O(ports) when the destination's table is cached, else O(cables between switches).
  uint64_t CountPaths(GpuId source, GpuId destination) const;

  // Appends the links of path `index` < CountPaths, from GPU to GPU. Indices order paths by the links chosen, first hop
  // most significant, so that equal indices of one pair stay equal as long as health does. Cost: O(ports of the
  // switches on the way); see BM_AppendPath.
  void AppendPath(GpuId source, GpuId destination, uint64_t index, model::Path* path) const;

  // All paths of a pair in the order of their indices, or `max_candidates` evenly spaced ones when there are more. The
  // spans are valid until the next call of FindCandidates on this router. Cost: O(links returned); see
  // BM_FindCandidates.
  PathCandidates FindCandidates(GpuId source, GpuId destination, size_t max_candidates) const;

  // Appends the path that ECMP takes: each node hashes the five-tuple with its own seed (derived from `seed`) and picks
  // one of its equal-cost next links. A bonded NIC picks its port in the same way, unless `port` says which one (modulo
  // those that lead there). Returns false, appending nothing, when there is no path.
  bool AppendEcmpPath(GpuId source, GpuId destination, const model::FiveTuple& tuple, uint64_t seed, model::Path* path,
                      std::optional<uint32_t> port = std::nullopt) const;

 private:
  bool IsInsideHost(GpuId source, GpuId destination) const;

  const Fabric* fabric_;
  std::unique_ptr<std::vector<uint8_t>> is_up_;  // [link]; behind a pointer, because the routes refer to it
  std::unique_ptr<HostRoutes> host_routes_;
  std::unique_ptr<NetworkRoutes> network_routes_;
  mutable std::vector<LinkId> candidate_links_;  // what FindCandidates returned last
};

}  // namespace fairlead::topology
