#include "sim/elastic/elastic_simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/sim_time.h"
#include "scheduling/job_sizes.h"

namespace fairlead::sim {
namespace {

using scheduling::AllocationJob;
using scheduling::AllocationPlan;
using scheduling::AllocationSnapshot;
using scheduling::Trigger;

SimTime TimeOf(double seconds) { return SimTime::FromSeconds(Seconds(seconds)); }

struct Forecast {
  double made_s = 0;
  double end_s = 0;
};

using ForecastErrors = std::array<std::optional<double>, kForecastShares.size()>;

ForecastErrors ErrorsOf(const std::vector<Forecast>& forecasts, double submission_s, double end_s) {
  ForecastErrors errors;
  for (size_t i = 0; i < errors.size(); ++i) {
    const double when_s = submission_s + kForecastShares[i] * (end_s - submission_s);
    const auto above = std::ranges::upper_bound(forecasts, when_s, {}, &Forecast::made_s);
    if (above == forecasts.begin()) continue;
    const Forecast& last = *std::prev(above);
    errors[i] = (last.end_s - end_s) / (end_s - last.made_s);
  }
  return errors;
}

class Simulation {
 public:
  Simulation(const std::vector<ElasticJobSpec>& workload, const scheduling::AllocationPolicy& policy,
             const ElasticOptions& options, std::optional<LearnedModels> learned)
      : policy_(policy), options_(options), history_(workload.size()), learned_(std::move(learned)) {
    jobs_.reserve(workload.size());
    for (const ElasticJobSpec& spec : workload) {
      jobs_.emplace_back(spec, options.cluster, options.errors, static_cast<uint32_t>(jobs_.size()));
    }
    result_.jobs.resize(workload.size());
    for (uint32_t n = 0; n < options.cluster.num_nodes(); ++n) nodes_.push_back(options.cluster.CapacityOf(HostId(n)));
    node_events_ = options.node_events;
    std::ranges::stable_sort(node_events_, {}, &NodeEvent::time_s);
  }

  Result<ElasticResult> Run(const std::atomic<bool>* stop) {
    while (!IsDone() && now_s_ < options_.give_up_s && (stop == nullptr || !stop->load(std::memory_order_relaxed))) {
      const size_t num_ended = AdvanceInterval();
      const bool has_node_event = ApplyNodeEvents();
      const AllocationSnapshot snapshot = TakeSnapshot(num_ended, has_node_event);
      if (!IsAsked(snapshot.trigger)) continue;
      FL_ASSIGN_OR_RETURN(const AllocationPlan plan, policy_.Decide(snapshot));
      ++result_.num_decisions;
      if (options_.observer) options_.observer(snapshot, plan);
      Carry(plan);
    }
    CollectJobs();
    if (learned_) {
      result_.num_flips = learned_->num_flips();
      result_.num_withdrawn = learned_->num_withdrawn();
    }
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
    uint32_t num_failures = 0;
    std::vector<Forecast> forecasts;  // in order
    scheduling::JobMemory memory;
  };

  bool IsDone() const {
    return std::ranges::all_of(jobs_, [](const ElasticJob& job) { return job.is_finished(); });
  }

  // Returns how many jobs ended.
  size_t AdvanceInterval() {
    ElasticInterval interval;
    interval.begin_s = now_s_;
    size_t num_ended = 0;
    for (size_t j = 0; j < jobs_.size(); ++j) {
      ElasticJob& job = jobs_[j];
      if (job.is_finished()) continue;
      if (job.is_running()) {
        AdvanceJob(&job, &interval);
        if (learned_ && (job.is_training() || job.is_finished())) {
          learned_->Observe(static_cast<uint32_t>(j), job, now_s_ + options_.interval_s, options_.interval_s);
        }
      } else if (history_[j].has_come) {
        history_[j].waited_s += options_.interval_s;
      }
      interval.num_jobs += history_[j].has_come ? 1 : 0;
      if (!job.is_finished()) continue;
      ++num_ended;
      ended_service_.push_back(job.executed_s() * job.sizes()[job.run().requested_size()].num_gpus);
    }
    result_.intervals.push_back(interval);
    now_s_ += options_.interval_s;
    return num_ended;
  }

  void AdvanceJob(ElasticJob* job, ElasticInterval* interval) {
    const double gpu_s = job->attained_gpu_s();
    const double core_s = job->attained_core_s();
    const BusyResources busy_s = job->busy_s();
    job->Advance(now_s_, options_.interval_s, options_.checkpoint_s);
    interval->gpus += (job->attained_gpu_s() - gpu_s) / options_.interval_s;
    interval->cores += (job->attained_core_s() - core_s) / options_.interval_s;
    interval->busy.gpus += (job->busy_s().gpus - busy_s.gpus) / options_.interval_s;
    interval->busy.cores += (job->busy_s().cores - busy_s.cores) / options_.interval_s;
  }

  // Returns whether a node came or went.
  bool ApplyNodeEvents() {
    bool has_changed = false;
    for (; next_node_event_ < node_events_.size() && node_events_[next_node_event_].time_s <= now_s_;
         ++next_node_event_) {
      const NodeEvent& event = node_events_[next_node_event_];
      scheduling::NodeCapacity& node = nodes_[event.node];
      const bool is_up = node.num_gpus > 0;
      if (is_up == event.is_up) continue;
      has_changed = true;
      node = options_.cluster.CapacityOf(event.node);
      if (!event.is_up) {
        node = {0, 0, node.gpu_type};
        StopJobsOn(event.node);
      }
    }
    return has_changed;
  }

  void StopJobsOn(HostId node) {
    for (size_t j = 0; j < jobs_.size(); ++j) {
      ElasticJob& job = jobs_[j];
      const auto& shares = job.allocation().shares;
      if (job.is_finished() || std::ranges::find(shares, node, &scheduling::NodeShare::node) == shares.end()) continue;
      job.LoseNode();
      ++history_[j].num_failures;
      history_[j].resized_at_s = now_s_;
      history_[j].waiting_since_s = now_s_;
    }
  }

  AllocationSnapshot TakeSnapshot(size_t num_ended, bool has_node_event) {
    AllocationSnapshot snapshot;
    snapshot.now = TimeOf(now_s_);
    snapshot.memory = memory_;
    snapshot.units = options_.units;
    snapshot.nodes = nodes_;
    snapshot.ended_service = ended_service_;
    bool has_arrival = false;
    bool has_flip = false;
    asked_.clear();
    for (uint32_t j = 0; j < jobs_.size(); ++j) {
      const ElasticJob& job = jobs_[j];
      if (job.is_finished() || job.spec().submission_s > now_s_) continue;
      has_arrival |= !history_[j].has_come;
      if (!history_[j].has_come) history_[j].waited_s += now_s_ - job.spec().submission_s;
      asked_.push_back(j);
      snapshot.jobs.push_back(Describe(j));
      NoteForecast(snapshot.jobs.back(), &history_[j].forecasts);
      const bool is_predictable = snapshot.jobs.back().is_predictable;
      has_flip |= history_[j].has_come && history_[j].was_predictable != is_predictable;
      history_[j].has_come = true;
      history_[j].was_predictable = is_predictable;
    }
    snapshot.trigger = has_node_event  ? Trigger::kNodes
                       : has_flip      ? Trigger::kFlip
                       : has_arrival   ? Trigger::kArrival
                       : num_ended > 0 ? Trigger::kDeparture
                                       : Trigger::kRound;
    return snapshot;
  }

  void NoteForecast(const AllocationJob& job, std::vector<Forecast>* forecasts) const {
    const auto size = scheduling::FindCurrentSize(job);
    if (!size) return;
    const double left_s = scheduling::RemainingSeconds(job, job.sizes[*size]);
    if (std::isfinite(left_s)) forecasts->push_back({now_s_, now_s_ + left_s});
  }

  AllocationJob Describe(uint32_t j) const {
    const ElasticJob& job = jobs_[j];
    const History& history = history_[j];
    AllocationJob described;
    described.id = JobId(j);
    described.submission = TimeOf(job.spec().submission_s);
    described.sizes = learned_ ? learned_->sizes(j) : job.sizes();
    described.requested = job.run().requested_size();
    described.ps_worker = learned_ ? learned_->ps_worker(j, job) : job.run().ps_worker();
    described.current = job.allocation().shares;
    described.attained_service =
        options_.units.gpu * job.attained_gpu_s() + options_.units.core * job.attained_core_s();
    described.executed_s = job.executed_s();
    described.waiting_since = TimeOf(std::max(history.waiting_since_s, job.spec().submission_s));
    described.running_since = TimeOf(history.running_since_s);
    described.resized_at = TimeOf(history.resized_at_s);
    described.num_restarts = job.num_restarts();
    described.restart_cost_s = job.spec().expected_restart_s.value_or(RestartSeconds(job));
    described.is_restarting = job.is_running() && !job.is_training();
    described.type_speeds = job.run().type_speeds();
    described.type_goodput = job.run().type_goodput();
    const std::optional<double> left = RemainingIterations(j);
    described.is_predictable = left.has_value();
    described.prediction_error = std::hypot(options_.errors.remaining_sigma, options_.errors.speed_sigma);
    described.remaining_iterations = left.value_or(0);
    described.tenant = job.spec().tenant;
    described.weight = job.spec().weight;
    described.memory = history.memory;
    return described;
  }

  // Nothing while the job is not predictable.
  std::optional<double> RemainingIterations(uint32_t j) const {
    const ElasticJob& job = jobs_[j];
    if (learned_) return learned_->RemainingIterations(j, job);
    return job.is_predictable() ? std::optional(job.PredictRemainingIterations()) : std::nullopt;
  }

  double RestartSeconds(const ElasticJob& job) const {
    if (job.spec().ps_application != nullptr) return job.spec().ps_application->restart_s;
    return job.spec().restart_s.value_or(options_.restart_s);
  }

  bool IsAsked(Trigger trigger) const {
    return !options_.only_events || trigger != Trigger::kRound || TimeOf(now_s_) >= next_wake_up_;
  }

  void Carry(const AllocationPlan& plan) {
    for (size_t i = 0; i < asked_.size(); ++i) {
      ElasticJob& job = jobs_[asked_[i]];
      History& history = history_[asked_[i]];
      history.memory = plan.jobs[i].memory;
      Allocation allocation{plan.jobs[i].nodes, plan.jobs[i].config};
      if (allocation.shares.empty()) allocation.config.reset();
      // A job not in the plan's configurations keeps its own on the same nodes.
      if (!allocation.config && allocation.shares == job.allocation().shares) continue;
      if (allocation == job.allocation()) continue;
      if (options_.moves_are_free && IsSameShape(allocation, job.allocation())) {
        job.Move(std::move(allocation));
        continue;
      }
      const bool was_running = job.is_running();
      job.Reallocate(std::move(allocation), RestartSeconds(job));
      history.resized_at_s = now_s_;
      if (!job.is_running()) {
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

  // As many GPUs on each node in order, of the same type.
  bool IsSameShape(const Allocation& a, const Allocation& b) const {
    return std::ranges::equal(a.shares, b.shares, [&](const scheduling::NodeShare& x, const scheduling::NodeShare& y) {
      return x.num_gpus == y.num_gpus && x.num_cores == y.num_cores &&
             options_.cluster.TypeOf(x.node) == options_.cluster.TypeOf(y.node);
    });
  }

  void CollectJobs() {
    for (size_t j = 0; j < jobs_.size(); ++j) {
      const ElasticJob& job = jobs_[j];
      ElasticJobResult& collected = result_.jobs[j];
      collected.name = job.spec().name;
      collected.tenant = job.spec().tenant;
      collected.submission_s = job.spec().submission_s;
      collected.first_start_s = history_[j].first_start_s;
      collected.completion_s = job.completion_s();
      collected.waited_s = history_[j].waited_s;
      collected.attained_gpu_s = job.attained_gpu_s();
      collected.attained_core_s = job.attained_core_s();
      collected.lost_gpu_s = job.lost_gpu_s();
      collected.requested_gpus = job.sizes()[job.run().requested_size()].num_gpus;
      collected.num_restarts = job.num_restarts();
      if (job.is_finished()) {
        collected.forecast_errors = ErrorsOf(history_[j].forecasts, job.spec().submission_s, *job.completion_s());
      }
      collected.num_failures = history_[j].num_failures;
      collected.num_stops = history_[j].num_stops;
      collected.num_unknown_placements = job.run().num_unknown_placements();
      collected.alone_s = job.run().SecondsAlone().value_or(0);
      result_.is_complete &= job.is_finished();
    }
  }

  const scheduling::AllocationPolicy& policy_;
  const ElasticOptions& options_;
  std::vector<ElasticJob> jobs_;
  std::vector<History> history_;  // [jobs_]
  std::vector<uint32_t> asked_;   // [snapshot.jobs] index into jobs_
  IdVector<HostId, scheduling::NodeCapacity> nodes_;
  std::vector<NodeEvent> node_events_;  // by time
  std::vector<double> ended_service_;
  size_t next_node_event_ = 0;
  std::optional<LearnedModels> learned_;
  scheduling::ClusterMemory memory_;
  SimTime next_wake_up_;
  double now_s_ = 0;
  ElasticResult result_;
};

}  // namespace

Status ElasticOptions::Validate() const {
  FL_RETURN_IF_ERROR(cluster.Validate());
  for (const NodeEvent& event : node_events) {
    if (event.node.valid() && event.node.index() < cluster.num_nodes() && std::isfinite(event.time_s)) continue;
    return InvalidArgument(fmt::format("elastic simulation: node {} fails or returns at {} s; expected one of {} nodes",
                                       event.node.value(), event.time_s, cluster.num_nodes()));
  }
  if (!(checkpoint_s > 0) || !(units.gpu >= 0 && units.core >= 0)) {
    return InvalidArgument(fmt::format(
        "elastic simulation: checkpoints every {} s, a GPU counts {} and a core {}; expected positive numbers",
        checkpoint_s, units.gpu, units.core));
  }
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
  std::optional<LearnedModels> learned;
  if (options.learned && options.cluster.num_types() > 1) {
    return InvalidArgument(fmt::format("elastic simulation: speeds are learned for one type of GPU; the cluster has {}",
                                       options.cluster.num_types()));
  }
  if (options.learned) {
    FL_ASSIGN_OR_RETURN(auto created, LearnedModels::Create(workload, options.cluster, *options.learned));
    learned = std::move(created);
  }
  return Simulation(workload, policy, options, std::move(learned)).Run(stop);
}

}  // namespace fairlead::sim
