#include "sim/run_laws.h"

#include <fmt/format.h>

#include <cmath>

namespace fairlead::sim {

namespace {

// Of sums of doubles over a run.
constexpr double kRounding = 1e-6;
// Utilizations over time are kept as float.
constexpr double kFloatRounding = 1e-3;

bool IsShare(double value, double rounding) { return value >= -rounding && value <= 1 + rounding; }

std::string FindBrokenShare(const RunResult& run) {
  if (!IsShare(run.busy, kRounding)) return fmt::format("GPUs are busy {} of their time", run.busy);
  if (!IsShare(run.fast_forward_fraction, kRounding)) return fmt::format("{} was skipped", run.fast_forward_fraction);
  for (const LinkResult& link : run.links) {
    if (!IsShare(link.utilization, kRounding)) return fmt::format("{}: utilization {}", link.name, link.utilization);
    for (const float share : link.utilization_over_time) {
      if (!(share >= -kFloatRounding)) return fmt::format("{}: utilization {} in a bin", link.name, share);
    }
  }
  for (const double share : run.timeline.gpu_busy) {
    if (!IsShare(share, kFloatRounding)) return fmt::format("GPUs are busy {} of a bin", share);
  }
  return "";
}

std::string FindBrokenJob(const Scenario& scenario, const RunResult& run, const JobResult& job) {
  const model::Job& asked = scenario.jobs[job.id.index()].job;
  const auto all = static_cast<double>(asked.num_iterations);
  for (const double value : {job.iterations, job.iteration_s, job.slowdown, job.compute_s, job.end_s}) {
    if (!std::isfinite(value) || value < 0) return fmt::format("job {}: a result is {}", job.name, value);
  }
  if (job.finished && job.iterations != all) {
    return fmt::format("job {} has ended after {} of {} iterations", job.name, job.iterations, all);
  }
  if (!job.finished && !run.partial && all > 0 && job.iterations >= all) {
    return fmt::format("job {} goes on after its {} iterations", job.name, all);
  }
  if (job.start_s < 0 || job.allocation) return "";
  const double held_s = job.end_s - job.start_s;
  const double needed_s = job.compute_s;
  if (needed_s > held_s * (1 + kRounding + run.fast_forward_error_bound) + kRounding) {
    return fmt::format("job {} has computed {} s in {} s", job.name, needed_s, held_s);
  }
  return "";
}

}  // namespace

std::string FindBrokenLaw(const Scenario& scenario, const RunResult& run) {
  if (run.jobs.size() != scenario.jobs.size()) {
    return fmt::format("{} of {} jobs have a result", run.jobs.size(), scenario.jobs.size());
  }
  std::string broken = FindBrokenShare(run);
  for (size_t j = 0; j < run.jobs.size() && broken.empty(); ++j) broken = FindBrokenJob(scenario, run, run.jobs[j]);
  return broken;
}

std::string FindDisagreement(const RunResult& fast, const RunResult& exact) {
  for (size_t j = 0; j < fast.jobs.size(); ++j) {
    const double error = std::abs(fast.jobs[j].iterations - exact.jobs[j].iterations);
    if (error <= fast.fast_forward_error_bound * exact.jobs[j].iterations + 1) continue;
    return fmt::format("job {}: {} iterations, but {} when every one is played; stated bound {}", fast.jobs[j].name,
                       fast.jobs[j].iterations, exact.jobs[j].iterations, fast.fast_forward_error_bound);
  }
  return "";
}

}  // namespace fairlead::sim
