// The traffic of jobs as it was last measured, so that only jobs with another iteration or other paths are measured
// again.
//
// Method      contents are compared, not addresses: a job may come back, or get another profile, at the same place. To
//             compare costs a tenth of measuring.
// Guarantees  what Find returns is what LinkTrafficMeter::Measure would, as long as no link has got another capacity:
//             whoever changes one clears the memory.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <unordered_map>

#include "base/ids.h"
#include "model/flow.h"
#include "model/path.h"
#include "traffic/link_traffic.h"
#include "traffic/packed_paths.h"

namespace fairlead::traffic {

struct JobView;

class TrafficMemory {
 public:
  // Of this job with this iteration on these paths; null: not known, measure it.
  std::shared_ptr<const JobTraffic> Find(JobId job, const model::Iteration& iteration,
                                         std::span<const model::Path> paths) const;
  // Takes the place of what was known of the job.
  void Remember(JobId job, const model::Iteration& iteration, std::span<const model::Path> paths,
                std::shared_ptr<const JobTraffic> traffic);
  // Forgets all jobs but these.
  void Retain(std::span<const JobView> jobs);
  void Clear() { jobs_.clear(); }

  size_t num_jobs() const { return jobs_.size(); }
  // How often Remember was called: jobs measured so far.
  size_t num_measured() const { return num_measured_; }

 private:
  struct Job {
    model::Iteration iteration;
    PackedPaths paths;
    std::shared_ptr<const JobTraffic> traffic;
  };

  std::unordered_map<JobId, Job> jobs_;
  size_t num_measured_ = 0;
};

}  // namespace fairlead::traffic
