// The way inside a host: from GPU to GPU, and between a GPU and its NIC.
//
// Shortest in hops, over healthy links, through switches and CPUs only; among equals the lowest LinkIds, which prefers
// NVLink (its cables are laid first). Hosts are small, so a search is a breadth-first walk over some thirty nodes; the
// ways between GPU and NIC are kept, since every path through the network begins and ends with one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "topology/fabric.h"

namespace fairlead::topology {

// Thread: fills caches; one per thread.
class HostRoutes {
 public:
  // `fabric` and `is_up` [link] must outlive this.
  HostRoutes(const Fabric& fabric, const std::vector<uint8_t>& is_up);

  // Forgets what it knew; call it after `is_up` changed.
  void Reset();

  // Links from a GPU to its NIC (or back), or nothing when failures cut them apart. Valid until the next call of any
  // method.
  std::optional<std::span<const LinkId>> GpuToNic(GpuId gpu) { return Find(gpu, &to_nic_[gpu], true); }
  std::optional<std::span<const LinkId>> NicToGpu(GpuId gpu) { return Find(gpu, &from_nic_[gpu], false); }
  // Appends the links between two different GPUs of one host. Returns false, appending nothing, when there is no way.
  bool AppendGpuToGpu(GpuId source, GpuId destination, std::vector<LinkId>* path);

 private:
  // A range of segment_links_.
  struct Segment {
    enum class State : uint8_t { kUnknown, kKnown, kCut };
    uint32_t first = 0;
    uint16_t size = 0;
    State state = State::kUnknown;
  };

  std::optional<std::span<const LinkId>> Find(GpuId gpu, Segment* segment, bool towards_nic);
  bool AppendShortest(NodeId from, NodeId to, std::vector<LinkId>* path);

  const Fabric* fabric_;
  const std::vector<uint8_t>* is_up_;
  IdVector<GpuId, Segment> to_nic_;
  IdVector<GpuId, Segment> from_nic_;
  std::vector<LinkId> segment_links_;
  std::vector<LinkId> reached_by_;  // [node within its host], invalid = not reached; scratch of AppendShortest
  std::vector<NodeId> queue_;
};

}  // namespace fairlead::topology
