// What a simulation leaves behind: turns the states and accounts of a ClusterSimulation into a RunResult.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "sim/cluster_simulation.h"
#include "sim/link_collisions.h"
#include "traffic/gpu_intensity.h"
#include "traffic/link_traffic.h"

namespace fairlead::sim {

namespace {

// Transfers that failures cut off wait for no link at all.
std::string LinkNameOrNoPath(const topology::Fabric& fabric, LinkId link) {
  return link.valid() ? fabric.LinkName(link) : "no path (links are down)";
}

// Each link once, ascending.
std::vector<LinkId> LinksOf(const std::vector<model::Path>& paths) {
  std::vector<LinkId> links;
  for (const model::Path& path : paths) links.insert(links.end(), path.begin(), path.end());
  std::sort(links.begin(), links.end());
  links.erase(std::unique(links.begin(), links.end()), links.end());
  return links;
}

// The job's last instant in this run.
SimTime EndOf(const JobState& state) { return state.is_finished ? state.finish_time : state.observed_until; }

bool HasBegun(const JobState& state) { return EndOf(state) > state.first_start; }

// Compute time of one GPU in one iteration.
double ComputePerIteration(const JobState& state) {
  return static_cast<double>(state.clock.total_ns) * state.clock.busy_fraction * 1e-9;
}

void SummarizeSlowdowns(std::vector<double> slowdowns, RunResult* result) {
  if (slowdowns.empty()) return;
  std::sort(slowdowns.begin(), slowdowns.end());
  for (double slowdown : slowdowns) result->mean_slowdown += slowdown / static_cast<double>(slowdowns.size());
  // Nearest rank: the smallest value that is not exceeded by 99 % of the jobs.
  const auto rank = static_cast<size_t>(std::ceil(0.99 * static_cast<double>(slowdowns.size())));
  result->p99_slowdown = slowdowns[std::max<size_t>(rank, 1) - 1];
}

// Indices of the `count` most used links, most used first.
std::vector<size_t> FindHottest(const std::vector<LinkResult>& links, size_t count) {
  std::vector<size_t> order(links.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto middle = order.begin() + static_cast<ptrdiff_t>(std::min(order.size(), count));
  std::partial_sort(order.begin(), middle, order.end(), [&](size_t a, size_t b) {
    return std::pair(-links[a].utilization, a) < std::pair(-links[b].utilization, b);
  });
  order.erase(middle, order.end());
  return order;
}

}  // namespace

RunResult ClusterSimulation::CollectResult(bool partial) {
  for (JobId id : running_) {
    SettleBytes(records_[id]);
    records_[id].gpu_intensity = IntensityOf(records_[id]);
  }
  RunResult result;
  result.policy = std::string(traffic_->name());
  if (allocates()) result.allocation = std::string(options_.controller.allocation.policy->name());
  result.seed = options_.controller.hash_seed;
  result.partial = partial;
  result.simulated_s = now_.seconds().value();
  result.path_changes = controller_->counters().path_changes;
  result.level_changes = controller_->counters().level_changes;
  result.num_plans = controller_->counters().plans;
  result.control = std::move(control_);
  CollectJobs(&result);
  if (options_.dcqcn) CollectCongestion(&result);
  CollectUtilization(&result);
  CollectLinks(&result);
  CollectLoadOfHottestLinks(&result);
  CollectContention(&result);
  CollectTimeline(&result);
  return result;
}

std::vector<ClusterSimulation::StretchView> ClusterSimulation::StretchesOf(const JobRecord& record) {
  std::vector<StretchView> stretches;
  for (const Stretch& past : record.past) {
    stretches.push_back({past.state.get(), past.solo, past.work, past.held_from, true});
  }
  if (record.state != nullptr) {
    stretches.push_back({record.state.get(), record.solo, record.work, record.held_from, false});
  }
  return stretches;
}

// Progress and speed of a job that has begun. Of an iteration that a restart threw away nothing counts but its compute.
void ClusterSimulation::DescribeProgress(const std::vector<StretchView>& stretches, JobResult* result) {
  result->start_s = stretches.front().state->first_start.seconds().value();
  double training_s = 0;
  double alone_s = 0;
  for (const StretchView& stretch : stretches) {
    const JobState& state = *stretch.state;
    result->compute_s += state.ComputeSeconds();
    result->iterations += static_cast<double>(state.iterations_done);
    training_s += (state.last_iteration_end - state.first_start).seconds().value();
    alone_s += stretch.solo.value() * static_cast<double>(state.iterations_done);
  }
  if (result->iterations > 0) {
    result->iteration_s = training_s / result->iterations;
    if (stretches.size() > 1) result->solo_iteration_s = alone_s / result->iterations;
    result->slowdown = result->iteration_s / result->solo_iteration_s;
  }
  // What a job has done of an iteration that it did not end.
  const StretchView& last = stretches.back();
  if (last.is_over) return;
  const double since_last_s = (EndOf(*last.state) - last.state->last_iteration_end).seconds().value();
  result->iterations += std::clamp(since_last_s / last.solo.value(), 0.0, 1.0);
}

// `job` has its other fields.
AllocationResult ClusterSimulation::DescribeAllocation(const JobRecord& record, const JobResult& job) const {
  AllocationResult result;
  result.sizes = record.sizes;
  double running_s = 0;
  for (const StretchView& stretch : StretchesOf(record)) {
    const double held_s = (EndOf(*stretch.state) - stretch.held_from).seconds().value();
    running_s += held_s;
    result.held_gpu_s += held_s * stretch.state->num_gpus;
    result.busy_gpu_s += stretch.state->ComputeSeconds() * stretch.state->num_gpus;
  }
  // Times are whole nanoseconds.
  result.waited_s = std::round((job.end_s - job.arrival_s - running_s) * 1e9) * 1e-9;
  uint32_t num_starts = 0;
  for (size_t i = 0; i < record.sizes.size(); ++i) {
    num_starts += record.sizes[i].num_gpus > 0 ? 1 : 0;
    const bool waits = record.sizes[i].num_gpus == 0 &&
                       (i + 1 == record.sizes.size() || record.sizes[i + 1].time_s > record.sizes[i].time_s);
    result.num_stops += waits ? 1 : 0;
  }
  result.num_restarts = num_starts > 0 ? num_starts - 1 : 0;
  return result;
}

// On its paths in force, all links healthy.
double ClusterSimulation::IntensityOf(const JobRecord& record) {
  const auto traffic = meter_.Measure(*record.iteration, record.state->paths);
  const auto profile = traffic::ComputeProfile(record.job.id, *record.iteration, traffic);
  return profile.communicates() ? profile.intensity.value() : 0;
}

void ClusterSimulation::CollectJobs(RunResult* result) const {
  for (const auto& [id, record] : records_) {
    JobResult job;
    job.id = id;
    job.name = record.job.name;
    job.model = record.job.model_profile;
    job.num_gpus = record.job.num_gpus;
    job.arrival_s = record.job.arrival.seconds().value();
    job.start_s = -1;
    job.end_s = result->simulated_s;
    job.reason = record.reason;
    job.priority_rank = record.priority_rank;
    job.profiling_error = record.profiling_error;
    std::vector<StretchView> stretches = StretchesOf(record);
    if (!stretches.empty()) {
      const JobState& state = *stretches.back().state;
      job.level = state.level;
      if (!stretches.back().is_over) job.end_s = EndOf(state).seconds().value();
      job.finished = state.is_finished;
      job.solo_iteration_s = record.solo.value();
      job.gpu_intensity = record.gpu_intensity;
      for (const StretchView& stretch : stretches) {
        result->event_hash = CombineHash(result->event_hash, stretch.state->event_hash);
      }
    }
    if (allocates()) job.allocation = DescribeAllocation(record, job);
    // Some stretches may have ended before training went on.
    std::erase_if(stretches, [](const StretchView& stretch) { return !HasBegun(*stretch.state); });
    if (!stretches.empty()) DescribeProgress(stretches, &job);
    result->jobs.push_back(std::move(job));
  }
}

void ClusterSimulation::CollectCongestion(RunResult* result) const {
  CongestionTotals all;
  for (JobResult& job : result->jobs) {
    CongestionTotals totals;
    for (const StretchView& stretch : StretchesOf(records_.at(job.id))) totals.Add(stretch.state->congestion);
    job.cnps = totals.cnps;
    all.Add(totals);
  }
  result->congestion_loss = all.held_bytes > 0 ? all.lost_bytes / all.held_bytes : 0;
}

// Sums over jobs, weighted with the GPU-seconds they held: from the start of their first iteration on, and with what
// restarts took where an allocation policy resizes jobs.
void ClusterSimulation::CollectUtilization(RunResult* result) const {
  double held = 0, busy = 0, flop = 0, ideal = 0, jumped = 0;
  std::vector<double> slowdowns;
  for (const JobResult& job : result->jobs) {
    if (job.start_s < 0) continue;
    for (const StretchView& stretch : StretchesOf(records_.at(job.id))) {
      const JobState& state = *stretch.state;
      const double gpus = state.num_gpus;
      const SimTime held_from = allocates() ? stretch.held_from : state.first_start;
      const double held_s = (EndOf(state) - held_from).seconds().value();
      const double per_iteration_s = ComputePerIteration(state);
      const double compute_s = state.ComputeSeconds();
      held += gpus * held_s;
      busy += gpus * compute_s;
      ideal += gpus * held_s * per_iteration_s / stretch.solo.value();
      flop += per_iteration_s > 0 ? compute_s / per_iteration_s * stretch.work.value() : 0;
      jumped += gpus * static_cast<double>(state.jumped_ns) * 1e-9;
      const double since_last_s = (EndOf(state) - state.last_iteration_end).seconds().value();
      const double begun = stretch.is_over ? 0 : std::clamp(since_last_s / stretch.solo.value(), 0.0, 1.0);
      const double useful_s = (static_cast<double>(state.iterations_done) + begun) * stretch.solo.value();
      result->gpu_hours_lost += gpus * std::max(0.0, held_s - useful_s) / 3600;
      result->fast_forward_error_bound = std::max(result->fast_forward_error_bound, state.jump_error);
    }
    if (job.slowdown > 0) slowdowns.push_back(job.slowdown);
  }
  if (held > 0) {
    result->busy = busy / held;
    result->flop_weighted = flop / (held * fabric_->gpu_peak().value());
    result->fast_forward_fraction = jumped / held;
  }
  if (ideal > 0) result->vs_ideal = busy / ideal;
  SummarizeSlowdowns(std::move(slowdowns), result);
}

void ClusterSimulation::CollectLinks(RunResult* result) const {
  std::vector<const JobState*> states;
  for (JobId id : running_) states.push_back(records_.at(id).state.get());
  result->colliding_links = FindCollidingLinks(states, *fabric_, capacities_).size();
  IdVector<LinkId, uint32_t> num_jobs(fabric_->num_links());
  for (const JobState* state : states) {
    for (LinkId link : LinksOf(state->paths)) ++num_jobs[link];
  }
  if (result->simulated_s <= 0) return;
  for (size_t i = 0; i < fabric_->num_links(); ++i) {
    const LinkId link(i);
    const topology::LinkTier tier = fabric_->tier(link);
    if (!topology::IsNetwork(tier) || link_bytes_[link] <= 0) continue;
    const double capacity = fabric_->capacity(link).value();
    result->links.push_back({.id = link,
                             .name = fabric_->LinkName(link),
                             .tier = tier,
                             .capacity_bytes_per_s = capacity,
                             .utilization = link_bytes_[link] / (capacity * result->simulated_s),
                             .num_jobs = num_jobs[link],
                             .utilization_over_time = {}});
  }
}

void ClusterSimulation::CollectLoadOfHottestLinks(RunResult* result) const {
  const double bin_s = static_cast<double>(busy_gpu_seconds_.bin_ns()) * 1e-9;
  for (size_t i : FindHottest(result->links, options_.num_hottest_links)) {
    LinkResult& link = result->links[i];
    const std::vector<float>& bins = link_bins_[link.id];
    for (size_t b = 0; b < std::min(bins.size(), NumBinsReached()); ++b) {
      link.utilization_over_time.push_back(bins[b] / static_cast<float>(link.capacity_bytes_per_s * bin_s));
    }
  }
}

void ClusterSimulation::CollectContention(RunResult* result) const {
  std::map<JobId, std::pair<double, LinkId>> longest;
  for (const auto& [key, place] : contention_.index()) {
    const ContentionValue& value = contention_.values()[place];
    if (!key.culprit.valid()) {
      auto& best = longest[key.victim];
      if (value.shared_s > best.first) best = {value.shared_s, key.link};
      continue;
    }
    if (value.shared_s <= 0) continue;
    result->contention.push_back({.victim = key.victim,
                                  .culprit = key.culprit,
                                  .link = key.link,
                                  .link_name = LinkNameOrNoPath(*fabric_, key.link),
                                  .shared_s = value.shared_s,
                                  .lost_s = value.lost_s,
                                  .yielded = value.yielded_s > 0.5 * value.lost_s});
  }
  for (JobResult& job : result->jobs) {
    const auto found = longest.find(job.id);
    if (found != longest.end()) job.bounding_link = LinkNameOrNoPath(*fabric_, found->second.second);
  }
}

// Bins of the timeline up to the end of the run, which may come before the end that was asked for.
size_t ClusterSimulation::NumBinsReached() const {
  const int64_t bin_ns = busy_gpu_seconds_.bin_ns();
  return static_cast<size_t>(std::min<int64_t>(options_.num_bins, (now_.ns() + bin_ns - 1) / bin_ns));
}

void ClusterSimulation::CollectTimeline(RunResult* result) const {
  Timeline& timeline = result->timeline;
  const int64_t bin_ns = busy_gpu_seconds_.bin_ns();
  timeline.bin_s = static_cast<double>(bin_ns) * 1e-9;
  const size_t num_bins = NumBinsReached();
  std::vector<double> held(num_bins);
  timeline.running_jobs.assign(num_bins, 0);
  for (const auto& [id, record] : records_) {
    for (const StretchView& stretch : StretchesOf(record)) {
      const SimTime start = stretch.state->first_start;
      const SimTime end = EndOf(*stretch.state);
      if (start >= end) continue;
      BinnedSum::Spread(start, end, (end - start).seconds().value() * stretch.state->num_gpus, held, bin_ns);
      for (int64_t b = start.ns() / bin_ns; b <= (end.ns() - 1) / bin_ns && b < static_cast<int64_t>(num_bins); ++b) {
        ++timeline.running_jobs[static_cast<size_t>(b)];
      }
    }
  }
  std::vector<double> carried(num_bins);
  double capacity = 0;
  for (size_t i = 0; i < fabric_->num_links(); ++i) {
    if (!topology::IsNetwork(fabric_->tier(LinkId(i)))) continue;
    capacity += fabric_->capacity(LinkId(i)).value();
    const std::vector<float>& bins = link_bins_[LinkId(i)];
    for (size_t b = 0; b < std::min(num_bins, bins.size()); ++b) carried[b] += bins[b];
  }
  for (size_t b = 0; b < num_bins; ++b) {
    timeline.gpu_busy.push_back(held[b] > 0 ? busy_gpu_seconds_.bins()[b] / held[b] : 0);
    // The last bin may end with the run.
    const double covered_s = std::min(timeline.bin_s, result->simulated_s - static_cast<double>(b) * timeline.bin_s);
    timeline.network_load.push_back(capacity > 0 && covered_s > 0 ? carried[b] / (capacity * covered_s) : 0);
  }
}

}  // namespace fairlead::sim
