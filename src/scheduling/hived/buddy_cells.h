// The free buddy cells of a cluster, read off its free GPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "scheduling/placement_policy.h"

namespace fairlead::scheduling::hived {

// Sizes of cells, ascending. Below kHost a level l is an aligned block of 2^l GPUs.
enum CellLevel : uint32_t {
  kHostLevel = 32,  // more than any block of GPUs
  kLeafLevel,
  kPodLevel,
  kClusterLevel,
  kScatteredLevel,  // no cell: any free GPUs of a host
};

// A free block of GPUs on one host.
struct FreeBlock {
  HostId host;
  uint32_t first = 0;  // index of its first GPU on the host
  uint32_t size = 0;
  uint32_t split = 0;  // level of the maximal free cell that it lies in
};

class BuddyCells {
 public:
  // `pool` must outlive this. Cost: O(hosts).
  explicit BuddyCells(const GpuPool& pool);

  // The smallest aligned block of at least `num_gpus` GPUs on this host, in the smallest maximal free cell; nothing
  // where no cell is large enough. Cost: O(GPUs of the host).
  std::optional<FreeBlock> FindBlock(HostId host, uint32_t num_gpus) const;

 private:
  bool IsFree(HostId host, uint32_t first, uint32_t size) const;
  // The level of the largest free cell that holds this free host.
  uint32_t LevelOfFreeHost(HostId host) const;

  const GpuPool* pool_;
  std::vector<uint8_t> leaf_is_free_;  // [leaf group]
  std::vector<uint8_t> pod_is_free_;   // [pod]
};

}  // namespace fairlead::scheduling::hived
