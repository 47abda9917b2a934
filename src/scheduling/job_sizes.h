// Which of its sizes a job may take: what it has, what fits, what is worth its resources.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "scheduling/allocation_policy.h"

namespace fairlead::scheduling {

inline const JobSize& RequestedSize(const AllocationJob& job) { return job.sizes[job.requested]; }

// What it holds now; empty while it waits.
Resources CurrentResources(const AllocationJob& job);

// Index into job.sizes of what it holds now; nothing when it waits, or holds something that is no size of it.
std::optional<uint32_t> FindCurrentSize(const AllocationJob& job);

// How many of its sizes have at most twice the GPUs that the job has had (JobMemory::size, or now), or at most one GPU
// where it has had none; at least 1, and all where sizes have no GPUs.
uint32_t CountSizesUpToDouble(const AllocationJob& job);

// Keeps the largest size that the job has had in `memory`.
void RememberLargestSize(const AllocationJob& job, JobMemory* memory);

// The largest size up to `at_most` [sizes] that fits into `room`.
std::optional<uint32_t> FindLargestFitting(const AllocationJob& job, const Resources& room, uint32_t at_most);

// The largest size that still uses its resources with at least this efficiency, compared with the smallest:
// R(smallest) * T(smallest) / (R(k) * T(k)) >= efficiency. Sizes of unknown speed don't count; the smallest always
// does. With GPUs only this is T(1) / (k * T(k)).
// Args: efficiency in (0, 1]; larger = smaller knees.
uint32_t FindKnee(const AllocationJob& job, double efficiency, const ResourceUnits& units);

// Seconds left at this size; infinite where unknown.
double RemainingSeconds(const AllocationJob& job, const JobSize& size);

// Sum over nodes.
Resources TotalCapacity(const AllocationSnapshot& snapshot);

// What no job of the snapshot holds. A node that shrank below what is held counts 0.
Resources FreeCapacity(const AllocationSnapshot& snapshot);

// The larger of the part's shares of all GPUs and all cores.
double DominantShare(const Resources& part, const Resources& total);

// Submission, then id: how every policy breaks ties.
inline bool CameFirst(const AllocationJob& a, const AllocationJob& b) {
  return a.submission != b.submission ? a.submission < b.submission : a.id < b.id;
}

}  // namespace fairlead::scheduling
