#include "traffic/ecmp/ecmp_policy.h"

#include <fmt/format.h>

#include <algorithm>

#include "traffic/default_paths.h"

namespace fairlead::traffic {

TrafficPlan EcmpPolicy::Plan(const TrafficSnapshot& snapshot) const {
  TrafficPlan plan;
  plan.jobs.reserve(snapshot.jobs.size());
  for (const JobView& job : snapshot.jobs) {
    JobPlan& mine = plan.jobs.emplace_back();
    mine.id = job.id;
    mine.paths = DefaultPaths(snapshot, job);
    const auto num_cut_off =
        std::count_if(mine.paths.begin(), mine.paths.end(), [](const auto& p) { return p.empty(); });
    mine.reason = fmt::format("{} flows on the paths of their hashes; one level for all jobs", mine.paths.size());
    if (num_cut_off > 0) mine.reason += fmt::format("; {} flows cut off by failures", num_cut_off);
  }
  return plan;
}

}  // namespace fairlead::traffic
