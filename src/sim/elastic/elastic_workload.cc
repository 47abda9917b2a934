#include "sim/elastic/elastic_workload.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string_view>

namespace fairlead::sim {

namespace {

Status CheckEpochs(const ElasticJobSpec& job) {
  if (job.requested_gpus == 0) return InvalidArgument(fmt::format("workload: job '{}' asks for 0 GPUs", job.name));
  const bool ascends = std::ranges::adjacent_find(job.allowed_gpus, std::greater_equal()) == job.allowed_gpus.end();
  if (!ascends || (!job.allowed_gpus.empty() && job.allowed_gpus.front() == 0)) {
    return InvalidArgument(fmt::format("workload: job '{}' may run on {} GPUs; expected numbers above 0, ascending",
                                       job.name, fmt::join(job.allowed_gpus, ", ")));
  }
  const BatchLimits& limits = job.profile->limits();
  if (job.global_batch >= limits.first && job.global_batch <= limits.max) return OkStatus();
  return InvalidArgument(fmt::format("workload: job '{}' has a batch of {}; {} takes {} to {}", job.name,
                                     job.global_batch, job.profile->name(), limits.first, limits.max));
}

Status CheckPsWorker(const ElasticJobSpec& job) {
  FL_RETURN_IF_ERROR(job.ps_application->Validate());
  if (job.global_batch == 0 || !(job.num_iterations > 0) || !std::isfinite(job.num_iterations)) {
    return InvalidArgument(fmt::format("workload: job '{}' has {} iterations of a batch of {}; expected some of each",
                                       job.name, job.num_iterations, job.global_batch));
  }
  if (IsWithin(job.requested_config, job.ps_application->limits)) return OkStatus();
  return InvalidArgument(
      fmt::format("workload: job '{}' asks for {} servers, {} workers and {} GPUs, which is outside the limits of {}",
                  job.name, job.requested_config.num_ps, job.requested_config.num_workers,
                  job.requested_config.num_gpus, job.ps_application->name));
}

}  // namespace

Status ValidateWorkload(const std::vector<ElasticJobSpec>& jobs) {
  std::set<std::string_view> names;
  for (const ElasticJobSpec& job : jobs) {
    if (!names.insert(job.name).second) {
      return InvalidArgument(fmt::format("workload: two jobs are called '{}'; names must differ", job.name));
    }
    if ((job.profile == nullptr) == (job.ps_application == nullptr)) {
      return InvalidArgument(fmt::format("workload: job '{}' has no profile, or two", job.name));
    }
    if (!(job.submission_s >= 0) || !std::isfinite(job.submission_s)) {
      return InvalidArgument(
          fmt::format("workload: job '{}' comes at {} s; expected 0 or later", job.name, job.submission_s));
    }
    FL_RETURN_IF_ERROR(job.profile != nullptr ? CheckEpochs(job) : CheckPsWorker(job));
    if (job.predictable_after && !(*job.predictable_after >= 0 && *job.predictable_after <= 1)) {
      return InvalidArgument(fmt::format("workload: job '{}' is predictable after {} of its run; expected 0 to 1",
                                         job.name, *job.predictable_after));
    }
  }
  return OkStatus();
}

}  // namespace fairlead::sim
