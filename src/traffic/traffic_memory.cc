#include "traffic/traffic_memory.h"

#include <utility>

#include "traffic/traffic_policy.h"

namespace fairlead::traffic {

std::shared_ptr<const JobTraffic> TrafficMemory::Find(JobId job, const model::Iteration& iteration,
                                                      std::span<const model::Path> paths) const {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return nullptr;
  const Job& known = found->second;
  return known.iteration == iteration && known.paths.Equals(paths) ? known.traffic : nullptr;
}

void TrafficMemory::Remember(JobId job, const model::Iteration& iteration, std::span<const model::Path> paths,
                             std::shared_ptr<const JobTraffic> traffic) {
  ++num_measured_;
  Job& known = jobs_[job];
  if (known.iteration != iteration) known.iteration = iteration;
  known.paths.Assign(paths);
  known.traffic = std::move(traffic);
}

void TrafficMemory::Retain(std::span<const JobView> jobs) {
  std::unordered_map<JobId, Job> kept;
  kept.reserve(jobs.size());
  for (const JobView& job : jobs) kept.insert(jobs_.extract(job.id));
  jobs_ = std::move(kept);
}

}  // namespace fairlead::traffic
