// Runs an fwl workload on the fluid network: when do its jobs end?
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "sim/fwl_workload.h"

namespace fairlead::sim {

enum class FwlDetail {
  // One fluid variable for each ring: it crosses its links as often as the ring's edges do, all edges at one rate. The
  // file has
  // no ring marks: a job has 8 rings, equal contiguous runs of its flows, when the number of its flows divides by 8 and
  // the
  // bytes inside each ring are equal. Otherwise its flows are taken as they are.
  kCoupled,
  // One flow for each flow of the file.
  kEdge,
  // Each flow of a ring (as above, with 2 edges or more) is 2(n-1) messages; an edge sends its next one when its last
  // is through
  // and the edge before it in the ring has sent as many.
  kStepwise,
};

// "coupled", "edge", "stepwise".
Result<FwlDetail> ParseFwlDetail(std::string_view name);

struct FwlOptions {
  FwlDetail detail = FwlDetail::kEdge;
  // Gives every job the level of its priority; off: all share alike.
  bool strict_priority = false;
};

struct FwlResult {
  double end_s = 0;  // simulated
  // Mean over the jobs with two iterations or more of (end - start) / iterations; end_s when there are none.
  double mean_iteration_s = 0;
  int64_t completions = 0;  // of flows; of messages in stepwise detail
  int64_t iterations = 0;   // over all jobs
  double cpu_s = 0;         // user + system seconds of this run, building the network included
  // [job][iteration] end of the iteration, seconds. Empty for jobs without flows: they take no part.
  std::vector<std::vector<double>> iteration_ends_s;
};

// Errors: kInvalidArgument (a priority of 64 or more with strict_priority), kFailedPrecondition (flows that never end).
Result<FwlResult> RunFwl(const FwlWorkload& workload, const FwlOptions& options);

}  // namespace fairlead::sim
