#include "scheduling/job_sizes.h"

#include <algorithm>
#include <limits>

namespace fairlead::scheduling {

Resources CurrentResources(const AllocationJob& job) {
  Resources held;
  for (const NodeShare& share : job.current) held = held + Resources{share.num_gpus, share.num_cores};
  return held;
}

std::optional<uint32_t> FindCurrentSize(const AllocationJob& job) {
  if (!job.is_running()) return std::nullopt;
  const Resources held = CurrentResources(job);
  const auto size = std::ranges::lower_bound(
      job.sizes, held,
      [](const Resources& a, const Resources& b) {
        return a.num_gpus != b.num_gpus ? a.num_gpus < b.num_gpus : a.num_cores < b.num_cores;
      },
      &JobSize::resources);
  if (size == job.sizes.end() || size->resources() != held) return std::nullopt;
  return static_cast<uint32_t>(size - job.sizes.begin());
}

uint32_t CountSizesUpToDouble(const AllocationJob& job) {
  if (job.sizes.back().num_gpus == 0) return static_cast<uint32_t>(job.sizes.size());
  std::optional<uint32_t> largest = job.memory.size;
  if (const auto current = FindCurrentSize(job)) largest = std::max(largest.value_or(0), *current);
  const uint32_t gpus = largest ? 2 * job.sizes[*largest].num_gpus : 1;
  const auto above = std::ranges::upper_bound(job.sizes, gpus, {}, &JobSize::num_gpus);
  return std::max<uint32_t>(1, static_cast<uint32_t>(above - job.sizes.begin()));
}

void RememberLargestSize(const AllocationJob& job, JobMemory* memory) {
  if (const auto current = FindCurrentSize(job)) memory->size = std::max(memory->size.value_or(0), *current);
}

std::optional<uint32_t> FindLargestFitting(const AllocationJob& job, const Resources& room, uint32_t at_most) {
  // Sizes ascend in both resources, so those that fit come first.
  const auto candidates = job.sizes.first(at_most + 1);
  const auto first_misfit =
      std::ranges::partition_point(candidates, [&](const JobSize& size) { return size.resources().Fits(room); });
  if (first_misfit == candidates.begin()) return std::nullopt;
  return static_cast<uint32_t>(first_misfit - candidates.begin()) - 1;
}

uint32_t FindKnee(const AllocationJob& job, double efficiency, const ResourceUnits& units) {
  const auto cost = [&](const JobSize& size) { return units.Of(size.resources()) * size.iteration_s; };
  const double base = cost(job.sizes.front());
  for (auto k = static_cast<uint32_t>(job.sizes.size()); k-- > 1;) {
    if (job.sizes[k].iteration_s > 0 && base >= efficiency * cost(job.sizes[k])) return k;
  }
  return 0;
}

double RemainingSeconds(const AllocationJob& job, const JobSize& size) {
  if (!job.is_predictable || size.iteration_s <= 0) return std::numeric_limits<double>::infinity();
  return job.remaining_iterations * size.iteration_s;
}

Resources TotalCapacity(const AllocationSnapshot& snapshot) {
  Resources total;
  for (const NodeCapacity& node : snapshot.nodes) total = total + Resources{node.num_gpus, node.num_cores};
  return total;
}

double DominantShare(const Resources& part, const Resources& total) {
  const auto share = [](uint64_t a, uint64_t b) {
    return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
  };
  return std::max(share(part.num_gpus, total.num_gpus), share(part.num_cores, total.num_cores));
}

Resources FreeCapacity(const AllocationSnapshot& snapshot) {
  IdVector<HostId, Resources> held(snapshot.nodes.size());
  for (const AllocationJob& job : snapshot.jobs) {
    for (const NodeShare& share : job.current) {
      held[share.node] = held[share.node] + Resources{share.num_gpus, share.num_cores};
    }
  }
  Resources free;
  for (size_t n = 0; n < snapshot.nodes.size(); ++n) {
    const NodeCapacity& node = snapshot.nodes[HostId(n)];
    const Resources& used = held[HostId(n)];
    free.num_gpus += node.num_gpus - std::min<uint64_t>(node.num_gpus, used.num_gpus);
    free.num_cores += node.num_cores - std::min<uint64_t>(node.num_cores, used.num_cores);
  }
  return free;
}

}  // namespace fairlead::scheduling
