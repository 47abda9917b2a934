#include "scheduling/hived/buddy_cells.h"

#include <bit>

namespace fairlead::scheduling::hived {

BuddyCells::BuddyCells(const GpuPool& pool)
    : pool_(&pool), leaf_is_free_(pool.fabric().num_leaf_groups(), 1), pod_is_free_(pool.fabric().num_pods(), 1) {
  const topology::Fabric& fabric = pool.fabric();
  for (size_t h = 0; h < fabric.num_hosts(); ++h) {
    const HostId host(h);
    if (pool.num_free(host) == fabric.num_gpus_of(host)) continue;
    leaf_is_free_[fabric.leaf_group(host)] = 0;
    pod_is_free_[fabric.pod(host)] = 0;
  }
}

bool BuddyCells::IsFree(HostId host, uint32_t first, uint32_t size) const {
  const uint32_t begin = pool_->fabric().first_gpu(host).value() + first;
  for (uint32_t gpu = begin; gpu < begin + size; ++gpu) {
    if (!pool_->is_free(GpuId(gpu))) return false;
  }
  return true;
}

uint32_t BuddyCells::LevelOfFreeHost(HostId host) const {
  const topology::Fabric& fabric = pool_->fabric();
  if (pool_->num_free() == fabric.num_gpus()) return kClusterLevel;
  if (pod_is_free_[fabric.pod(host)] != 0) return kPodLevel;
  return leaf_is_free_[fabric.leaf_group(host)] != 0 ? kLeafLevel : kHostLevel;
}

std::optional<FreeBlock> BuddyCells::FindBlock(HostId host, uint32_t num_gpus) const {
  const uint32_t host_size = pool_->fabric().num_gpus_of(host);
  if (num_gpus == 0 || num_gpus > pool_->num_free(host)) return std::nullopt;
  const uint32_t needed = std::bit_ceil(num_gpus);
  if (pool_->num_free(host) == host_size) {
    return FreeBlock{host, 0, needed < host_size ? needed : host_size, LevelOfFreeHost(host)};
  }
  std::optional<FreeBlock> best;
  for (uint32_t first = 0; first + needed <= host_size; first += needed) {
    if (!IsFree(host, first, needed)) continue;
    uint32_t size = needed;  // of the largest free block around it
    for (uint32_t larger = 2 * size; larger < host_size; larger *= 2) {
      const uint32_t begin = first / larger * larger;
      if (begin + larger > host_size || !IsFree(host, begin, larger)) break;
      size = larger;
    }
    const auto level = static_cast<uint32_t>(std::countr_zero(size));
    if (!best || level < best->split) best = FreeBlock{host, first, needed, level};
  }
  return best;
}

}  // namespace fairlead::scheduling::hived
