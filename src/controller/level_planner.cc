#include "controller/level_planner.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "traffic/gpu_intensity.h"
#include "traffic/link_traffic.h"

namespace fairlead::controller {
namespace {

// Of ln(priority): jobs that differ by less than a thousandth are alike, also where they were never seen to vary.
constexpr double kLeastUncertainty = 1e-3;
constexpr double kNothingIsCertain = 1e3;

}  // namespace

LevelPlanner::LevelPlanner(const topology::Fabric& fabric, const traffic::PathService& paths, const JobTable& jobs,
                           const traffic::TrafficPolicy& policy, LevelPlannerOptions options)
    : fabric_(fabric),
      paths_(paths),
      jobs_(jobs),
      options_(options),
      planner_(fabric, policy, {.num_levels = options.num_levels, .hash_seed = 0, .random_seed = options.random_seed}),
      measurements_(options.measurement_weight) {}

void LevelPlanner::Measure(JobId job, HostId host, const JobMeasured& message) {
  const std::set<uint64_t>* held = jobs_.FindShare(job, host);
  FL_CHECK(held != nullptr);
  measurements_.Add(job, host, message, *held, fabric_.num_gpus_of(host));
  orders_[job].is_measured_anew = true;
  is_stale_ = true;
}

void LevelPlanner::SetHealth(LinkId link, double health) {
  planner_.SetHealth(link, health);
  is_stale_ = true;
}

void LevelPlanner::RemoveConnection(JobId job, HostId host, uint64_t connection) {
  measurements_.RemoveConnection(job, host, connection);
}

void LevelPlanner::Forget(JobId job) {
  measurements_.Forget(job);
  orders_.erase(job);
}

bool LevelPlanner::IsMeasuredByAll(JobId job) const {
  return measurements_.NumHosts(job) == jobs_.at(job).shares.size();
}

std::optional<JobMeasurement> LevelPlanner::Sum(JobId job) const {
  return measurements_.Sum(job, jobs_.at(job).shares.size());
}

std::optional<FlopPerSecond> LevelPlanner::FindIntensity(JobId job) const {
  const auto order = orders_.find(job);
  return order == orders_.end() ? std::nullopt : order->second.intensity;
}

std::optional<Seconds> LevelPlanner::FindFastestIteration(JobId job) const {
  const auto order = orders_.find(job);
  return order == orders_.end() ? std::nullopt : order->second.fastest_iteration;
}

std::map<JobId, JobMeasurement> LevelPlanner::SumAll() const {
  std::map<JobId, JobMeasurement> sums;
  for (const auto& [job, order] : orders_) {
    std::optional<JobMeasurement> sum = Sum(job);
    if (!sum) continue;
    sum->bytes = measurements_.FindBytes(job);
    sums.emplace_hint(sums.end(), job, *std::move(sum));
  }
  return sums;
}

// A job of which a part of the hosts has reported, or a guessed period, says nothing of how fast it can be.
void LevelPlanner::RememberFastest(const std::map<JobId, JobMeasurement>& sums) {
  for (const auto& [job, sum] : sums) {
    if (!IsMeasuredByAll(job) || !sum.is_period_known) continue;
    std::optional<Seconds>& fastest = orders_.at(job).fastest_iteration;
    fastest = std::min(fastest.value_or(sum.iteration_time), sum.iteration_time);
  }
}

// Of a job on these paths.
double LevelPlanner::PriorityUncertainty(const MeasuredJob& measured) {
  Order& order = orders_.at(measured.id);
  uint64_t hash = measured.paths.size();
  for (const model::Path& path : measured.paths) {
    for (const LinkId link : path) hash = CombineHash(hash, link.value());
  }
  // Nor is what some of its hosts have measured a measurement of the job.
  if (std::exchange(order.paths_hash, hash) != hash || !IsMeasuredByAll(measured.id)) order.spread.Forget();
  const double half_width = order.spread.HalfWidth(options_.order_error_probability);
  // An order that an earlier controller made outlives the time in which hosts report one after the other, until there
  // are two measurements to compare.
  if (jobs_.IsAwaited(measured.id) && half_width == 0) return kNothingIsCertain;
  return std::max(half_width, kLeastUncertainty);
}

void LevelPlanner::NoteIntensities(const traffic::TrafficSnapshot& snapshot) {
  const traffic::LinkTable links = traffic::MakeLinkTable(snapshot);
  traffic::LinkTrafficMeter meter(links);
  for (const traffic::JobView& view : snapshot.jobs) {
    const traffic::JobTraffic measured = meter.Measure(*view.iteration, view.paths);
    const FlopPerSecond intensity = traffic::ComputeProfile(view.id, *view.iteration, measured).intensity;
    orders_.at(view.id).intensity = std::isfinite(intensity.value()) ? std::optional(intensity) : std::nullopt;
  }
}

std::vector<traffic::JobPlan> LevelPlanner::PlanIfDue(SimTime now) {
  // Finding out whether there is anything to plan takes a pass over all connections: not with each message.
  const bool is_stale = is_stale_ || jobs_.num_changes() != planned_changes_;
  if (!is_stale || measurements_.empty() || now < next_plan_) return {};
  is_stale_ = false;
  planned_changes_ = jobs_.num_changes();
  next_plan_ = now + options_.level_period;
  const std::map<JobId, JobMeasurement> sums = SumAll();
  RememberFastest(sums);
  const std::vector<MeasuredJob> measured = CollectMeasuredJobs(fabric_, paths_, sums);
  if (measured.empty()) return {};
  std::vector<traffic::JobView> views;
  views.reserve(measured.size());
  for (const MeasuredJob& job : measured) {
    views.push_back({.id = job.id,
                     .num_gpus = job.num_gpus,
                     .arrival_order = job.id.value(),
                     .iteration = &job.iteration,
                     .paths = job.paths,
                     .level = jobs_.at(job.id).level,
                     .relative_speed = 1,
                     .priority_uncertainty = PriorityUncertainty(job),
                     .is_period_known = job.is_period_known,
                     .starved_for = Seconds(0)});
  }
  const traffic::TrafficSnapshot snapshot = planner_.Snapshot(views);
  NoteIntensities(snapshot);
  if (!options_.sets_levels) {
    planner_.ForgetChangedLinks();
    return {};
  }
  traffic::TrafficPlan plan = planner_.Plan(snapshot);
  for (const traffic::JobPlan& job : plan.jobs) {
    Order& order = orders_.at(job.id);
    if (std::exchange(order.is_measured_anew, false)) order.spread.Add(job.priority);
  }
  return std::move(plan.jobs);
}

}  // namespace fairlead::controller
