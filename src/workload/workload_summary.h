// What an imported workload amounts to: how often and how much it communicates in each group. For people and programs.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "collective/collective_sequence.h"

namespace fairlead::workload {

// Collectives of one kind, group and pass.
struct CollectiveTotal {
  collective::StepGroup group;
  collective::CollectiveKind kind = collective::CollectiveKind::kHierarchicalAllReduce;
  collective::TrainingPass pass = collective::TrainingPass::kForward;
  uint64_t count = 0;
  Bytes bytes;           // buffers of one rank, collective_kind.h
  Bytes blocking_bytes;  // of these: compute waits at once
};

struct WorkloadSummary {
  Seconds compute;                      // of one GPU and iteration
  uint64_t num_collectives = 0;         // with bytes
  uint32_t num_phases = 0;              // that a simulation makes of them, with the default options
  std::vector<CollectiveTotal> totals;  // most bytes first
};

// Cost: O(steps log steps).
WorkloadSummary SummarizeSequence(const collective::CollectiveSequence& sequence);

}  // namespace fairlead::workload
