// First come, first served: the oldest job first, at the size that it asks for; no job is stopped or resized.
//
// Strict       the first job that doesn't fit blocks all behind it (but one that never fits into the cluster is passed
//              over).
// Skip         jobs behind it run where they fit ("fit-job-first"); the blocked job may starve.
// Guarantees   a running job keeps its nodes until it ends or a node is lost.
#pragma once

#include <memory>

#include "scheduling/allocation_policy.h"

namespace fairlead::scheduling::fcfs {

enum class Misfit : uint8_t {
  kBlocks,   // "fcfs"
  kSkipped,  // "fcfs-skip"
};

std::unique_ptr<AllocationPolicy> CreateFcfs(Misfit misfit);

}  // namespace fairlead::scheduling::fcfs
