#include "sim/elastic/elastic_simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/sim_time.h"

namespace fairlead::sim {
namespace {

using scheduling::AllocationJob;
using scheduling::AllocationPlan;
using scheduling::AllocationSnapshot;
using scheduling::Trigger;

SimTime TimeOf(double seconds) { return SimTime::FromSeconds(Seconds(seconds)); }

class Simulation {
 public:
  Simulation(const std::vector<ElasticJobSpec>& workload, const scheduling::AllocationPolicy& policy,
             const ElasticOptions& options)
      : policy_(policy), options_(options), history_(workload.size()) {
    jobs_.reserve(workload.size());
    for (const ElasticJobSpec& spec : workload) {
      jobs_.emplace_back(spec, options.cluster, options.errors, static_cast<uint32_t>(jobs_.size()));
    }
    result_.jobs.resize(workload.size());
  }

  Result<ElasticResult> Run(const std::atomic<bool>* stop) {
    while (!IsDone() && now_s_ < options_.give_up_s && (stop == nullptr || !stop->load(std::memory_order_relaxed))) {
      const size_t num_ended = AdvanceInterval();
      const AllocationSnapshot snapshot = TakeSnapshot(num_ended);
      if (!IsAsked(snapshot.trigger)) continue;
      FL_ASSIGN_OR_RETURN(const AllocationPlan plan, policy_.Decide(snapshot));
      ++result_.num_decisions;
      if (options_.observer) options_.observer(snapshot, plan);
      Carry(plan);
    }
    CollectJobs();
    return std::move(result_);
  }

 private:
  // What is remembered of a job beside its own state.
  struct History {
    bool has_come = false;
    bool was_predictable = false;
    double waiting_since_s = 0;
    double running_since_s = 0;
    double resized_at_s = 0;
    std::optional<double> first_start_s;
    double waited_s = 0;
    uint32_t num_stops = 0;
    scheduling::JobMemory memory;
  };

  bool IsDone() const {
    return std::ranges::all_of(jobs_, [](const ElasticJob& job) { return job.is_finished(); });
  }

  // Returns how many jobs ended.
  size_t AdvanceInterval() {
    ElasticInterval interval{now_s_, 0, 0, 0};
    size_t num_ended = 0;
    for (size_t j = 0; j < jobs_.size(); ++j) {
      ElasticJob& job = jobs_[j];
      if (job.is_finished()) continue;
      const double held_before = job.attained_gpu_s();
      job.Advance(now_s_, options_.interval_s);
      const double gpu_s = job.attained_gpu_s() - held_before;
      interval.gpus += gpu_s / options_.interval_s;
      interval.cores += gpu_s / options_.interval_s * options_.cluster.cores_per_gpu;
      interval.num_jobs += history_[j].has_come ? 1 : 0;
      if (job.shares().empty() && history_[j].has_come) history_[j].waited_s += options_.interval_s;
      num_ended += job.is_finished() ? 1 : 0;
    }
    result_.intervals.push_back(interval);
    now_s_ += options_.interval_s;
    return num_ended;
  }

  AllocationSnapshot TakeSnapshot(size_t num_ended) {
    AllocationSnapshot snapshot;
    snapshot.now = TimeOf(now_s_);
    snapshot.memory = memory_;
    snapshot.nodes.assign(options_.cluster.num_nodes,
                          {options_.cluster.gpus_per_node, options_.cluster.cores_per_node, 0});
    bool has_arrival = false;
    bool has_flip = false;
    asked_.clear();
    for (uint32_t j = 0; j < jobs_.size(); ++j) {
      const ElasticJob& job = jobs_[j];
      if (job.is_finished() || job.spec().submission_s > now_s_) continue;
      has_arrival |= !history_[j].has_come;
      if (!history_[j].has_come) history_[j].waited_s += now_s_ - job.spec().submission_s;
      has_flip |= history_[j].has_come && history_[j].was_predictable != job.is_predictable();
      history_[j].has_come = true;
      history_[j].was_predictable = job.is_predictable();
      asked_.push_back(j);
      snapshot.jobs.push_back(Describe(j));
    }
    snapshot.trigger = has_flip        ? Trigger::kFlip
                       : has_arrival   ? Trigger::kArrival
                       : num_ended > 0 ? Trigger::kDeparture
                                       : Trigger::kRound;
    return snapshot;
  }

  AllocationJob Describe(uint32_t j) const {
    const ElasticJob& job = jobs_[j];
    const History& history = history_[j];
    AllocationJob described;
    described.id = JobId(j);
    described.submission = TimeOf(job.spec().submission_s);
    described.sizes = job.sizes();
    described.requested = job.requested_size();
    described.current = job.shares();
    described.attained_service = job.attained_gpu_s();
    described.executed_s = job.executed_s();
    described.waiting_since = TimeOf(std::max(history.waiting_since_s, job.spec().submission_s));
    described.running_since = TimeOf(history.running_since_s);
    described.resized_at = TimeOf(history.resized_at_s);
    described.num_restarts = job.num_restarts();
    described.restart_cost_s = options_.restart_s;
    described.is_predictable = job.is_predictable();
    described.prediction_error = std::hypot(options_.errors.remaining_sigma, options_.errors.speed_sigma);
    described.remaining_iterations = described.is_predictable ? job.PredictRemainingIterations() : 0;
    described.memory = history.memory;
    return described;
  }

  bool IsAsked(Trigger trigger) const {
    return !options_.only_events || trigger != Trigger::kRound || TimeOf(now_s_) >= next_wake_up_;
  }

  void Carry(const AllocationPlan& plan) {
    for (size_t i = 0; i < asked_.size(); ++i) {
      ElasticJob& job = jobs_[asked_[i]];
      History& history = history_[asked_[i]];
      history.memory = plan.jobs[i].memory;
      if (plan.jobs[i].nodes == job.shares()) continue;
      const bool was_running = !job.shares().empty();
      job.Reallocate(plan.jobs[i].nodes, options_.restart_s);
      history.resized_at_s = now_s_;
      if (job.shares().empty()) {
        ++history.num_stops;
        history.waiting_since_s = now_s_;
      } else if (!was_running) {
        history.running_since_s = now_s_;
        if (!history.first_start_s) history.first_start_s = now_s_;
      }
    }
    memory_ = plan.memory;
    next_wake_up_ = plan.next_wake_up;
  }

  void CollectJobs() {
    for (size_t j = 0; j < jobs_.size(); ++j) {
      const ElasticJob& job = jobs_[j];
      ElasticJobResult& collected = result_.jobs[j];
      collected.name = job.spec().name;
      collected.submission_s = job.spec().submission_s;
      collected.first_start_s = history_[j].first_start_s;
      collected.completion_s = job.completion_s();
      collected.waited_s = history_[j].waited_s;
      collected.attained_gpu_s = job.attained_gpu_s();
      collected.num_restarts = job.num_restarts();
      collected.num_stops = history_[j].num_stops;
      collected.num_unknown_placements = job.num_unknown_placements();
      collected.alone_s = job.RunSecondsAlone(job.requested_size() + 1).value_or(0);
      result_.is_complete &= job.is_finished();
    }
  }

  const scheduling::AllocationPolicy& policy_;
  const ElasticOptions& options_;
  std::vector<ElasticJob> jobs_;
  std::vector<History> history_;  // [jobs_]
  std::vector<uint32_t> asked_;   // [snapshot.jobs] index into jobs_
  scheduling::ClusterMemory memory_;
  SimTime next_wake_up_;
  double now_s_ = 0;
  ElasticResult result_;
};

}  // namespace

Status ElasticOptions::Validate() const {
  FL_RETURN_IF_ERROR(cluster.Validate());
  if (interval_s > 0 && restart_s >= 0 && give_up_s > 0 && errors.remaining_sigma >= 0 && errors.speed_sigma >= 0) {
    return OkStatus();
  }
  return InvalidArgument(fmt::format(
      "elastic simulation: interval {} s, restart {} s, end {} s; expected positive times, and errors not negative",
      interval_s, restart_s, give_up_s));
}

Result<ElasticResult> RunElasticSimulation(const std::vector<ElasticJobSpec>& workload,
                                           const scheduling::AllocationPolicy& policy, const ElasticOptions& options,
                                           const std::atomic<bool>* stop) {
  FL_RETURN_IF_ERROR(options.Validate());
  FL_RETURN_IF_ERROR(ValidateWorkload(workload));
  return Simulation(workload, policy, options).Run(stop);
}

}  // namespace fairlead::sim
