#include "slurm/seen_steps.h"

#include <algorithm>

#include "slurm/engine_notes.h"
#include "slurm/progress_file.h"
#include "slurm/steering_steps.h"

namespace fairlead::slurm {

void SeenSteps::SetIterationTimes(const std::map<std::string, Seconds>& times) {
  iteration_times_.clear();
  for (const auto& [key, time] : times) {
    const auto identity = model::ParseJobKey(key);
    if (identity.has_value() && JobNumberOf(*identity) != 0) iteration_times_[JobNumberOf(*identity)] = time;
  }
}

StepsSeen SeenSteps::Read(const Job& job, const ElasticWish& wish) const {
  StepsSeen seen;
  if (const auto found = iteration_times_.find(job.id); found != iteration_times_.end()) {
    seen.iteration_time = found->second;
  }
  if (wish.progress_file.empty()) return seen;
  const Result<double> steps = ReadProgressFile(wish.progress_file, job.owner);
  if (steps.ok()) {
    seen.done = *steps;
    const std::optional<SimTime> said_at = TimeOfFile(wish.progress_file, job.owner);
    if (said_at.has_value()) seen.said_ago = std::max(SimDuration(), UnixTime() - *said_at);
  } else if (steps.status().code() != StatusCode::kNotFound) {
    seen.fault = steps.status().message();
  }
  return seen;
}

}  // namespace fairlead::slurm
