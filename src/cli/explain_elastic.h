// fairlead explain job J --workload W: one job of an elastic workload under an allocation policy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "report/allocation_explanation.h"

namespace fairlead::cli {

struct ElasticExplainOptions {
  std::string job;       // name or number
  std::string workload;  // a file, or kGenerated
  std::string profiles;  // where the workload's speeds lie; see LoadWorkload
  std::string allocation = "aiturbo";
  uint64_t seed = 1;
  uint32_t num_nodes = 16;
  uint32_t gpus_per_node = 4;
  std::optional<double> at_s;

  static constexpr const char* kGenerated = "generated";
};

// Simulates the workload to its end and explains one decision about the job. Errors: kNotFound for a missing file or
// job; kInvalidArgument for an unknown policy or a bad workload.
Result<report::AllocationExplanation> ExplainElasticJob(const ElasticExplainOptions& options);

}  // namespace fairlead::cli
