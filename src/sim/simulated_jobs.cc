#include "sim/simulated_jobs.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/random.h"

namespace fairlead::sim {

SimulatedJobs::SimulatedJobs(std::vector<model::Job> jobs, const Options& options) : options_(options) {
  for (model::Job& job : jobs) {
    const auto [entry, is_new] = records_.try_emplace(job.id);
    FL_CHECK_MSG(is_new, "two jobs with one id");
    entry->second.job = std::move(job);
  }
}

JobRecord& SimulatedJobs::Start(SimTime now, const controller::StartJob& action, const model::Iteration& iteration,
                                const SoloReference& solo) {
  JobRecord& record = records_.at(action.job);
  record.iteration = std::make_unique<model::Iteration>(iteration);
  record.placement = action.placement;
  record.work = record.iteration->work;
  record.held_from = now;
  SimTime start = now;
  uint64_t num_iterations = record.job.num_iterations;
  if (options_.are_resized) {
    start = start + record.job.elasticity.restart_cost;
    num_iterations -= record.past_iterations;
    record.job.num_gpus = static_cast<uint32_t>(action.placement.gpus.size());
    record.sizes.push_back({now.seconds().value(), record.job.num_gpus, action.reason});
  }
  if (options_.random_phase) {
    Random random(CombineHash(options_.phase_seed, action.job.value() + (uint64_t{record.past.size()} << 32)));
    start = start + SimDuration::FromSeconds(SimDuration(solo.iteration_ns).seconds() * random.Uniform());
  }
  record.state = std::make_unique<JobState>(CreateJobState(
      action.job, record.job.num_gpus, num_iterations, *record.iteration, options_.detail, start, options_.num_bins));
  record.state->solo = solo;
  record.state->observed_until = now;
  running_.insert(std::lower_bound(running_.begin(), running_.end(), action.job), action.job);
  record.hold_end = record.job.hold_time.ns() > 0 ? now + record.job.hold_time : SimTime::Never();
  return record;
}

JobRecord& SimulatedJobs::ChangeIteration(SimTime now, JobId job, const model::Iteration& iteration,
                                          const SoloReference& solo, SimTime start, uint64_t num_lost) {
  EndStretch(job);
  JobRecord& record = records_.at(job);
  FL_CHECK(num_lost <= record.past_iterations);
  record.past_iterations -= num_lost;
  record.num_repeated += num_lost;
  return Continue(now, job, iteration, solo, start);
}

void SimulatedJobs::EndStretch(JobId job) {
  JobRecord& record = records_.at(job);
  record.past_iterations += record.state->iterations_done;
  record.past.push_back({std::move(record.state), record.work, record.held_from, record.is_transfer});
  record.is_transfer = false;
}

JobRecord& SimulatedJobs::Continue(SimTime now, JobId job, const model::Iteration& iteration, const SoloReference& solo,
                                   SimTime start) {
  JobRecord& record = records_.at(job);
  record.iteration = std::make_unique<model::Iteration>(iteration);
  record.work = iteration.work;
  record.held_from = now;
  const uint64_t all = record.job.num_iterations;
  record.state =
      std::make_unique<JobState>(CreateJobState(job, record.job.num_gpus, all > 0 ? all - record.past_iterations : 0,
                                                *record.iteration, options_.detail, start, options_.num_bins));
  record.state->solo = solo;
  record.state->observed_until = now;
  return record;
}

bool SimulatedJobs::Leave(JobId job) {
  const auto place = std::lower_bound(running_.begin(), running_.end(), job);
  if (place == running_.end() || *place != job) return false;
  running_.erase(place);
  return true;
}

void SimulatedJobs::Suspend(SimTime now, const controller::SuspendJob& action) {
  EndStretch(action.job);
  records_.at(action.job).sizes.push_back({now.seconds().value(), 0, action.reason});
}

}  // namespace fairlead::sim
