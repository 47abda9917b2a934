#include "report/job_explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/run_summary.h"

namespace fairlead::report {
namespace {

const sim::JobResult* FindResult(const sim::RunResult& run, JobId id) {
  const auto found =
      std::find_if(run.jobs.begin(), run.jobs.end(), [id](const sim::JobResult& job) { return job.id == id; });
  return found == run.jobs.end() ? nullptr : &*found;
}

double KnownOrZero(double value) { return std::isfinite(value) ? value : 0; }

OtherJob DescribeOther(const sim::RunResult& run, JobId id) {
  OtherJob other;
  other.id = id;
  if (const sim::JobResult* job = FindResult(run, id); job != nullptr) {
    other.name = job->name;
    other.num_gpus = job->num_gpus;
    other.level = job->level;
  }
  return other;
}

std::vector<ExplainedLoss> ExplainLosses(const sim::RunResult& run, const sim::JobResult& victim) {
  std::vector<ExplainedLoss> losses;
  for (const sim::LossResult& loss : victim.lost_to) {
    ExplainedLoss explained;
    explained.loss = loss;
    if (loss.culprit.valid()) explained.other = DescribeOther(run, loss.culprit);
    const auto link = std::find_if(run.links.begin(), run.links.end(),
                                   [&loss](const sim::LinkResult& result) { return result.id == loss.link; });
    if (loss.link.valid() && link != run.links.end()) {
      explained.capacity_bytes_per_s = link->capacity_bytes_per_s;
      explained.utilization = link->utilization;
    }
    losses.push_back(std::move(explained));
  }
  return losses;
}

std::vector<DelayedJob> FindDelayed(const sim::RunResult& run, JobId culprit) {
  std::vector<DelayedJob> delayed;
  for (const sim::JobResult& victim : run.jobs) {
    DelayedJob entry;
    for (const sim::LossResult& loss : victim.lost_to) {
      if (loss.culprit != culprit) continue;
      entry.lost_s += KnownOrZero(loss.lost_s);
      entry.gpu_hours += KnownOrZero(loss.gpu_hours);
      entry.yielded = entry.yielded || loss.cause == sim::LossCause::kLevel;
    }
    if (!(entry.lost_s > 0)) continue;
    entry.job = DescribeOther(run, victim.id);
    delayed.push_back(std::move(entry));
  }
  std::stable_sort(delayed.begin(), delayed.end(),
                   [](const DelayedJob& a, const DelayedJob& b) { return a.lost_s > b.lost_s; });
  return delayed;
}

Status NoSuchJob(const sim::RunResult& run, JobId id) {
  const std::string asked = id.valid() ? fmt::format("job {}", id.value()) : "a job without an id";
  if (run.jobs.empty()) return NotFound(fmt::format("{}: the run has no jobs", asked));
  const auto [least, greatest] = std::minmax_element(
      run.jobs.begin(), run.jobs.end(), [](const sim::JobResult& a, const sim::JobResult& b) { return a.id < b.id; });
  return NotFound(fmt::format("{}: the run has no such job; its {} jobs have ids from {} to {}", asked, run.jobs.size(),
                              least->id.value(), greatest->id.value()));
}

}  // namespace

Result<JobExplanation> ExplainJob(const sim::RunResult& run, JobId id) {
  const sim::JobResult* job = FindResult(run, id);
  if (job == nullptr) return NoSuchJob(run, id);
  JobExplanation explanation;
  explanation.job = *job;
  explanation.policy = run.policy;
  explanation.draw = run.draw;
  explanation.seed = run.seed;
  explanation.partial = run.partial;
  explanation.simulated_s = run.simulated_s;
  explanation.lost_gpu_hours_per_day = PerDay(job->lost_gpu_hours, run.simulated_s);
  explanation.losses = ExplainLosses(run, *job);
  explanation.delayed = FindDelayed(run, id);
  return explanation;
}

}  // namespace fairlead::report
