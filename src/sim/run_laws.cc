#include "sim/run_laws.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fairlead::sim {

namespace {

// Of sums of doubles over a run.
constexpr double kRounding = 1e-6;
// Max-min shares are not monotonic: a job that slows some flows of another one down may speed up others of it.
constexpr double kGainFromOthers = 2e-3;
// Utilizations over time are kept as float.
constexpr double kFloatRounding = 1e-3;
// Of what a job lost.
constexpr double kMostUnknown = 0.05;

bool IsShare(double value, double rounding) { return value >= -rounding && value <= 1 + rounding; }

std::string FindBrokenShare(const RunResult& run) {
  if (!IsShare(run.busy, kRounding)) return fmt::format("GPUs are busy {} of their time", run.busy);
  if (!IsShare(run.vs_ideal, kRounding)) return fmt::format("{} of what jobs alone would do", run.vs_ideal);
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
  // What extrapolation owes to a job comes with its next jump, its last iteration maybe after the end of the run.
  const bool may_be_owed = scenario.simulation.extrapolate && job.iterations == all;
  if (!job.finished && !run.partial && all > 0 && job.iterations >= all && !may_be_owed) {
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

std::string FindBrokenRow(const JobResult& job, const LossResult& row) {
  const bool needs_culprit =
      row.cause == LossCause::kJob || row.cause == LossCause::kLevel || row.cause == LossCause::kProfiling;
  if (!(row.lost_s > 0) || !(row.gpu_hours > 0)) return fmt::format("a row of {} s, {} h", row.lost_s, row.gpu_hours);
  if (row.culprit == job.id) return "a job blames itself as another one";
  if (row.culprit.valid() != needs_culprit) return fmt::format("a row of cause {}", LossCauseName(row.cause));
  for (const LossResult& other : job.lost_to) {
    if (&other == &row) continue;
    if (other.cause == row.cause && other.culprit == row.culprit && other.link == row.link) return "a row twice";
  }
  return "";
}

// What the job lost is the time that it held less its work, and its rows add up to that.
std::string FindBrokenAccount(const RunResult& run, const JobResult& job) {
  if (job.condition == JobCondition::kNeverStarted) {
    return job.slowdown != 0 || job.lost_s != 0 || !job.lost_to.empty() ? "it lost time without a start" : "";
  }
  const double useful_s = job.work * job.solo_iteration_s;
  const double slack_s = (kRounding + run.fast_forward_error_bound) * job.held_s;
  if (useful_s > job.held_s * (1 + kGainFromOthers) + slack_s)
    return fmt::format("{} s of work in {} s", useful_s, job.held_s);
  if (std::abs(job.lost_s - std::max(0.0, job.held_s - useful_s)) > slack_s) {
    return fmt::format("it lost {} s of {} s with {} s of work", job.lost_s, job.held_s, useful_s);
  }
  if (job.slowdown < 1) return fmt::format("slowdown {}", job.slowdown);
  if (useful_s > 0 && std::abs(job.slowdown - std::max(1.0, job.held_s / useful_s)) > kRounding * job.slowdown) {
    return fmt::format("slowdown {} for {} s with {} s of work", job.slowdown, job.held_s, useful_s);
  }
  double rows_s = 0, rows_gpu_hours = 0, unknown_s = 0;
  for (const LossResult& row : job.lost_to) {
    if (std::string broken = FindBrokenRow(job, row); !broken.empty()) return broken;
    rows_s += row.lost_s;
    rows_gpu_hours += row.gpu_hours;
    if (row.cause == LossCause::kNotAttributed) unknown_s += row.lost_s;
  }
  if (std::abs(rows_s - job.lost_s) > kRounding * job.lost_s + slack_s) {
    return fmt::format("rows of {} s for a loss of {} s", rows_s, job.lost_s);
  }
  if (std::abs(rows_gpu_hours - job.lost_gpu_hours) > kRounding * job.lost_gpu_hours) {
    return fmt::format("rows of {} GPU-hours for a loss of {}", rows_gpu_hours, job.lost_gpu_hours);
  }
  if (unknown_s > kMostUnknown * job.lost_s + slack_s) {
    return fmt::format("of {} s lost {} s are not attributed", job.lost_s, unknown_s);
  }
  return "";
}

std::string FindBrokenSum(const RunResult& run) {
  double lost_gpu_hours = 0, worst = 0;
  for (const JobResult& job : run.jobs) {
    lost_gpu_hours += job.lost_gpu_hours;
    worst = std::max(worst, job.slowdown);
  }
  if (std::abs(run.gpu_hours_lost - lost_gpu_hours) > kRounding * lost_gpu_hours) {
    return fmt::format("{} GPU-hours lost, {} by jobs", run.gpu_hours_lost, lost_gpu_hours);
  }
  if (run.worst_slowdown != worst) return fmt::format("worst slowdown {}, of jobs {}", run.worst_slowdown, worst);
  if (run.mean_slowdown > worst * (1 + kRounding)) return fmt::format("mean slowdown {}", run.mean_slowdown);
  return "";
}

}  // namespace

std::string FindBrokenAccount(const RunResult& run) {
  for (const JobResult& job : run.jobs) {
    const std::string broken = FindBrokenAccount(run, job);
    if (!broken.empty()) return fmt::format("{}, seed {}, job {}: {}", run.policy, run.seed, job.name, broken);
  }
  return FindBrokenSum(run);
}

std::string FindBrokenLaw(const Scenario& scenario, const RunResult& run) {
  if (run.jobs.size() != scenario.jobs.size()) {
    return fmt::format("{} of {} jobs have a result", run.jobs.size(), scenario.jobs.size());
  }
  std::string broken = FindBrokenShare(run);
  for (size_t j = 0; j < run.jobs.size() && broken.empty(); ++j) broken = FindBrokenJob(scenario, run, run.jobs[j]);
  return broken.empty() ? FindBrokenAccount(run) : broken;
}

std::string FindDisagreement(const RunResult& fast, const RunResult& exact) {
  for (size_t j = 0; j < fast.jobs.size(); ++j) {
    const double error = std::abs(fast.jobs[j].iterations - exact.jobs[j].iterations);
    if (error <= fast.fast_forward_error_bound * exact.jobs[j].iterations + 1) continue;
    return fmt::format("job {}: {} iterations, but {} when every one is simulated; stated bound {}", fast.jobs[j].name,
                       fast.jobs[j].iterations, exact.jobs[j].iterations, fast.fast_forward_error_bound);
  }
  return "";
}

}  // namespace fairlead::sim
