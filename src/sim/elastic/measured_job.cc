#include "sim/elastic/measured_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace fairlead::sim {

Status AddMeasuredJob(const MeasuredJob& job, OwnedWorkload* workload) {
  const auto own = job.speeds.find(job.requested_gpus);
  if (own == job.speeds.end() || !(own->second > 0)) {
    return InvalidArgument(fmt::format("no speed of {} on {} GPUs", job.application, job.requested_gpus));
  }
  ElasticJobSpec spec;
  spec.name = job.name;
  spec.submission_s = job.submission_s;
  spec.weight = job.weight;
  spec.tenant = job.tenant;
  spec.requested_gpus = job.requested_gpus;
  spec.allowed_gpus = job.allowed_gpus;
  if (spec.allowed_gpus.empty()) spec.allowed_gpus = {job.requested_gpus};
  MeasuredApplication application{job.application, 0, job.num_iterations, job.speeds};
  // Profiles begin with one GPU. Where nothing says how fast that is, no job is offered it either.
  const auto least = std::ranges::find_if(job.speeds, [](const auto& speed) { return speed.second > 0; });
  application.speeds.try_emplace(1, least->second / least->first);
  spec.global_batch = std::max(job.global_batch, job.speeds.rbegin()->first);
  application.global_batch = spec.global_batch;
  FL_ASSIGN_OR_RETURN(ApplicationProfile profile, ProfileOfMeasured(application));
  workload->profiles.push_back(std::make_unique<const ApplicationProfile>(std::move(profile)));
  spec.profile = workload->profiles.back().get();
  workload->jobs.push_back(std::move(spec));
  return OkStatus();
}

Status FinishWorkload(OwnedWorkload* workload) {
  double first_s = std::numeric_limits<double>::infinity();
  for (const ElasticJobSpec& job : workload->jobs) first_s = std::min(first_s, job.submission_s);
  for (ElasticJobSpec& job : workload->jobs) job.submission_s -= first_s;
  std::ranges::stable_sort(workload->jobs, {}, &ElasticJobSpec::submission_s);
  return ValidateWorkload(workload->jobs);
}

}  // namespace fairlead::sim
