#include "scheduling/aiturbo/length_guess.h"

#include "scheduling/job_sizes.h"

namespace fairlead::scheduling::aiturbo {
namespace {

double IterationSeconds(const AllocationJob& job) {
  if (job.has_configs()) return job.ps_worker->iteration_s(job.ps_worker->config);
  return job.sizes[FindCurrentSize(job).value_or(job.requested)].iteration_s;
}

}  // namespace

AllocationSnapshot GuessLengths(const AllocationSnapshot& snapshot) {
  AllocationSnapshot guessed = snapshot;
  for (AllocationJob& job : guessed.jobs) {
    if (job.is_predictable || job.executed_s <= 0) continue;
    const double iteration_s = IterationSeconds(job);
    if (iteration_s <= 0) continue;
    job.is_predictable = true;
    job.remaining_iterations = job.executed_s / iteration_s;
  }
  return guessed;
}

}  // namespace fairlead::scheduling::aiturbo
