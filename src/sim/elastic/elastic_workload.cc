#include "sim/elastic/elastic_workload.h"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <string_view>

namespace fairlead::sim {

Status ValidateWorkload(const std::vector<ElasticJobSpec>& jobs) {
  std::set<std::string_view> names;
  for (const ElasticJobSpec& job : jobs) {
    if (!names.insert(job.name).second) {
      return InvalidArgument(fmt::format("workload: two jobs are called '{}'; names must differ", job.name));
    }
    if (job.profile == nullptr) return InvalidArgument(fmt::format("workload: job '{}' has no profile", job.name));
    if (job.requested_gpus == 0) return InvalidArgument(fmt::format("workload: job '{}' asks for 0 GPUs", job.name));
    if (!(job.submission_s >= 0) || !std::isfinite(job.submission_s)) {
      return InvalidArgument(
          fmt::format("workload: job '{}' comes at {} s; expected 0 or later", job.name, job.submission_s));
    }
    const BatchLimits& limits = job.profile->limits();
    if (job.global_batch < limits.first || job.global_batch > limits.max) {
      return InvalidArgument(fmt::format("workload: job '{}' has a batch of {}; {} takes {} to {}", job.name,
                                         job.global_batch, job.profile->name(), limits.first, limits.max));
    }
    if (job.predictable_after && !(*job.predictable_after >= 0 && *job.predictable_after <= 1)) {
      return InvalidArgument(fmt::format("workload: job '{}' is predictable after {} of its run; expected 0 to 1",
                                         job.name, *job.predictable_after));
    }
  }
  return OkStatus();
}

}  // namespace fairlead::sim
