#include "sim/result_collection.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/statistics.h"

namespace fairlead::sim {

namespace {

// Transfers that failures cut off wait for no link at all.
std::string LinkNameOrNoPath(const topology::Fabric& fabric, LinkId link) {
  return link.valid() ? fabric.LinkName(link) : "no path (links are down)";
}

// Finds each link of some paths once, again and again with the same memory.
class LinkFinder {
 public:
  explicit LinkFinder(size_t num_links) : is_known_(num_links, false) {}

  // In order of appearance.
  std::vector<LinkId> LinksOf(const std::vector<model::Path>& paths) {
    std::vector<LinkId> links;
    for (const model::Path& path : paths) {
      for (const LinkId link : path) {
        if (is_known_[link.index()]) continue;
        is_known_[link.index()] = true;
        links.push_back(link);
      }
    }
    for (const LinkId link : links) is_known_[link.index()] = false;
    return links;
  }

 private:
  std::vector<bool> is_known_;  // [link]; none between calls
};

// The job's last instant in this run.
SimTime EndOf(const JobState& state) { return state.is_finished ? state.finish_time : state.observed_until; }

// A job is stalled permanently when it has done no work for so many of its iterations alone, and so long.
constexpr double kStalledAfterIterations = 3;
constexpr double kStalledAfterS = 1;

// Less is the rounding of ends to nanoseconds.
constexpr double kNegligibleLoss = 1e-7;

bool IsBetweenSwitches(topology::LinkTier tier) {
  return tier == topology::LinkTier::kLeafSpine || tier == topology::LinkTier::kSpineCore;
}

double SoloSeconds(const JobState& state) { return static_cast<double>(state.solo.iteration_ns) * 1e-9; }

double WorkOf(const JobState& state) { return static_cast<double>(state.iterations_done) + state.open_work; }

bool HasBegun(const JobState& state) { return EndOf(state) > state.first_start; }

// Compute time of one GPU in one iteration.
double ComputePerIteration(const JobState& state) {
  return static_cast<double>(state.clock.total_ns) * state.clock.busy_fraction * 1e-9;
}

// Of fewer jobs the 99th percentile is the worst one.
constexpr size_t kJobsForPercentile = 100;

void SummarizeSlowdowns(std::vector<double> slowdowns, RunResult* result) {
  if (slowdowns.empty()) return;
  result->mean_slowdown = Mean(slowdowns);
  result->worst_slowdown = *std::max_element(slowdowns.begin(), slowdowns.end());
  if (slowdowns.size() >= kJobsForPercentile) result->p99_slowdown = NearestRank(std::move(slowdowns), 0.99);
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

// Its functions further down read what those further up have filled in.
class ResultCollector {
 public:
  explicit ResultCollector(const RunAccounts& run) : run_(run) {}

  void CollectJobs(RunResult* result) const;
  void CollectCongestion(RunResult* result) const;
  void CollectMigrations(RunResult* result) const;
  void CollectUtilization(RunResult* result) const;
  void CollectLinks(RunResult* result) const;
  void CollectLoadOfHottestLinks(RunResult* result) const;
  void CollectDelays(RunResult* result) const;
  void CollectTimeline(RunResult* result) const;

 private:
  void CollectLossesOf(JobResult* job) const;
  size_t NumBinsReached() const;
  double HeldSeconds(const StretchView& stretch) const;
  void DescribeProgress(const std::vector<StretchView>& stretches, JobResult* result) const;
  static void DescribeCondition(const JobState& state, JobResult* result);
  static AllocationResult DescribeAllocation(const JobRecord& record, const JobResult& job);

  const RunAccounts& run_;
};

// For how long the stretch counts as holding GPUs: from its first iteration on, with its restart where sizes change or
// workers migrate.
double ResultCollector::HeldSeconds(const StretchView& stretch) const {
  const SimTime from = run_.allocates || !stretch.is_first ? stretch.held_from : stretch.state->first_start;
  return std::max(0.0, (EndOf(*stretch.state) - from).seconds().value());
}

// Progress and speed of a job that has begun. Of an iteration that a restart threw away nothing counts but its compute.
void ResultCollector::DescribeProgress(const std::vector<StretchView>& stretches, JobResult* result) const {
  const auto first = std::ranges::find_if(stretches, [](const StretchView& s) { return HasBegun(*s.state); });
  result->start_s = first->state->first_start.seconds().value();
  double training_s = 0;
  double useful_s = 0;
  uint64_t num_ended = 0;
  for (const StretchView& stretch : stretches) {
    const JobState& state = *stretch.state;
    result->compute_s += state.ComputeSeconds();
    result->held_s += HeldSeconds(stretch);
    result->work += WorkOf(state);
    useful_s += WorkOf(state) * SoloSeconds(state);
    num_ended += state.iterations_done;
    if (state.iterations_done > 0) training_s += (state.last_iteration_end - state.first_start).seconds().value();
  }
  const auto num_repeated = static_cast<double>(run_.jobs.at(result->id).num_repeated);
  if (num_repeated > 0) {
    useful_s *= std::max(0.0, 1 - num_repeated / result->work);
    result->work -= num_repeated;
  }
  result->iterations = result->work;
  if (num_ended > 0) result->iteration_s = training_s / static_cast<double>(num_ended);
  if (stretches.size() > 1 && result->work > 0) result->solo_iteration_s = useful_s / result->work;
  result->lost_s = std::max(0.0, result->held_s - useful_s);
  if (result->lost_s <= kNegligibleLoss * result->held_s) result->lost_s = 0;
  // A job that has done nothing at all is at least as slow as if its first iteration ended now.
  const double alone_s = useful_s > 0 ? useful_s : result->solo_iteration_s;
  result->slowdown = result->lost_s > 0 ? std::max(1.0, result->held_s / alone_s) : 1;
  DescribeCondition(*stretches.back().state, result);
}

void ResultCollector::DescribeCondition(const JobState& state, JobResult* result) {
  result->condition = JobCondition::kRan;
  if (result->finished || state.stalled_since == SimTime::Never()) return;
  const double still_s = (EndOf(state) - state.stalled_since).seconds().value();
  const double enough_s = std::max(kStalledAfterS, kStalledAfterIterations * SoloSeconds(state));
  if (!state.is_cut_off && still_s < enough_s) return;
  result->condition = state.is_cut_off ? JobCondition::kCutOff : JobCondition::kStalled;
  result->stalled_s = still_s;
}

// `job` has its other fields.
AllocationResult ResultCollector::DescribeAllocation(const JobRecord& record, const JobResult& job) {
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
  result.waited_s = std::max(0.0, std::round((job.end_s - job.arrival_s - running_s) * 1e9) * 1e-9);
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

void ResultCollector::CollectJobs(RunResult* result) const {
  for (const auto& [id, record] : run_.jobs) {
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
      job.solo_iteration_s = SoloSeconds(state);
      job.gpu_intensity = record.gpu_intensity;
      for (const StretchView& stretch : stretches) {
        result->event_hash = CombineHash(result->event_hash, stretch.state->event_hash);
      }
    }
    if (run_.allocates) job.allocation = DescribeAllocation(record, job);
    if (std::any_of(stretches.begin(), stretches.end(), [](const auto& s) { return HasBegun(*s.state); })) {
      DescribeProgress(stretches, &job);
    }
    result->jobs.push_back(std::move(job));
  }
}

void ResultCollector::CollectCongestion(RunResult* result) const {
  CongestionTotals all;
  for (JobResult& job : result->jobs) {
    CongestionTotals totals;
    for (const StretchView& stretch : StretchesOf(run_.jobs.at(job.id))) totals.Add(stretch.state->congestion);
    job.cnps = totals.cnps;
    job.queue_wait_s = totals.held_bytes > 0 ? totals.wait_byte_s / totals.held_bytes : 0;
    all.Add(totals);
  }
  result->congestion_loss = all.held_bytes > 0 ? all.lost_bytes / all.held_bytes : 0;
}

// After the losses.
void ResultCollector::CollectMigrations(RunResult* result) const {
  MigrationResult& all = *result->migration;
  for (JobResult& job : result->jobs) {
    const JobRecord& record = run_.jobs.at(job.id);
    JobMigrations& mine = job.migrations.emplace();
    mine.moves = record.moves;
    for (const StretchView& stretch : StretchesOf(record)) {
      if (stretch.is_first) continue;
      const SimTime end = EndOf(*stretch.state);
      const SimTime trains = stretch.is_transfer ? end : std::min(end, stretch.state->first_start);
      mine.stopped_s += (trains - stretch.held_from).seconds().value();
    }
    all.stopped_s += mine.stopped_s;
    for (const LossResult& loss : job.lost_to) {
      if (loss.cause == LossCause::kRestart) all.lost_gpu_hours += loss.gpu_hours;
    }
  }
}

// Sums over jobs, weighted with the GPU-seconds they held: from the start of their first iteration on, and with what
// restarts took where an allocation policy resizes jobs.
void ResultCollector::CollectUtilization(RunResult* result) const {
  double held = 0, busy = 0, flop = 0, ideal = 0, useful = 0, jumped = 0;
  std::vector<double> slowdowns;
  for (const JobResult& job : result->jobs) {
    if (job.condition == JobCondition::kNeverStarted) continue;
    for (const StretchView& stretch : StretchesOf(run_.jobs.at(job.id))) {
      const JobState& state = *stretch.state;
      const double gpus = state.num_gpus;
      const double held_s = HeldSeconds(stretch);
      const double per_iteration_s = ComputePerIteration(state);
      const double compute_s = state.ComputeSeconds();
      held += gpus * held_s;
      busy += gpus * compute_s;
      useful += gpus * std::min(WorkOf(state), held_s / SoloSeconds(state)) * per_iteration_s;
      ideal += gpus * held_s * per_iteration_s / SoloSeconds(state);
      flop += per_iteration_s > 0 ? compute_s / per_iteration_s * stretch.work.value() : 0;
      jumped += gpus * static_cast<double>(state.jumped_ns) * 1e-9;
      result->fast_forward_error_bound = std::max(result->fast_forward_error_bound, state.jump_error);
    }
    result->gpu_hours_lost += job.lost_gpu_hours;
    result->num_stalled += job.condition == JobCondition::kStalled;
    result->num_cut_off += job.condition == JobCondition::kCutOff;
    slowdowns.push_back(job.slowdown);
  }
  result->slowdowns_are_bounds = result->num_stalled + result->num_cut_off > 0;
  if (held > 0) {
    result->busy = busy / held;
    result->ideal_busy = ideal / held;
    result->flop_weighted = flop / (held * run_.fabric.gpu_peak().value());
    result->fast_forward_fraction = jumped / held;
  }
  if (ideal > 0) result->vs_ideal = useful / ideal;
  SummarizeSlowdowns(std::move(slowdowns), result);
}

void ResultCollector::CollectLinks(RunResult* result) const {
  std::vector<const JobState*> states;
  for (JobId id : run_.running) states.push_back(run_.jobs.at(id).state.get());
  LinkFinder finder(run_.fabric.num_links());
  IdVector<LinkId, uint32_t> num_jobs(run_.fabric.num_links());
  for (const JobState* state : states) {
    for (const LinkId link : finder.LinksOf(state->paths)) ++num_jobs[link];
  }
  if (result->simulated_s <= 0) return;
  std::map<LinkId, std::vector<JobId>> jobs_on;
  for (const auto& [id, record] : run_.jobs) {
    const std::vector<StretchView> stretches = StretchesOf(record);
    if (stretches.empty()) continue;
    for (const LinkId link : finder.LinksOf(stretches.back().state->paths)) jobs_on[link].push_back(id);
  }
  for (size_t i = 0; i < run_.fabric.num_links(); ++i) {
    const LinkId link(i);
    const topology::LinkTier tier = run_.fabric.tier(link);
    if (!topology::IsNetwork(tier) || run_.carried.total[link] <= 0) continue;
    const double capacity = run_.fabric.capacity(link).value();
    result->links.push_back({.id = link,
                             .name = run_.fabric.LinkName(link),
                             .tier = tier,
                             .capacity_bytes_per_s = capacity,
                             .utilization = run_.carried.total[link] / (capacity * result->simulated_s),
                             .num_jobs = num_jobs[link],
                             .jobs = std::move(jobs_on[link]),
                             .utilization_over_time = {}});
    if (run_.queues == nullptr) continue;
    const LinkQueue& queue = (*run_.queues)[link];
    result->links.back().queue = {.mean_bytes = queue.byte_s / result->simulated_s, .most_bytes = queue.most};
  }
}

void ResultCollector::CollectLoadOfHottestLinks(RunResult* result) const {
  const double bin_s = static_cast<double>(run_.busy_gpu_seconds.bin_ns()) * 1e-9;
  for (size_t i : FindHottest(result->links, run_.num_hottest_links)) {
    LinkResult& link = result->links[i];
    const std::vector<float>& bins = run_.carried.bins[link.id];
    for (size_t b = 0; b < std::min(bins.size(), NumBinsReached()); ++b) {
      link.utilization_over_time.push_back(bins[b] / static_cast<float>(link.capacity_bytes_per_s * bin_s));
    }
  }
}

void ResultCollector::CollectDelays(RunResult* result) const {
  std::map<JobId, std::pair<double, LinkId>> longest;
  for (const auto& [key, place] : run_.delays.bounds.index()) {
    const double bound_s = run_.delays.bounds.values()[place];
    auto& best = longest[key.job];
    if (bound_s > best.first) best = {bound_s, key.link};
  }
  std::set<LinkId> colliding;
  for (JobResult& job : result->jobs) {
    const auto found = longest.find(job.id);
    if (found != longest.end()) job.bounding_link = LinkNameOrNoPath(run_.fabric, found->second.second);
    if (job.lost_s > 0) CollectLossesOf(&job);
    for (const LossResult& loss : job.lost_to) {
      const bool is_collision = loss.cause == LossCause::kJob || loss.cause == LossCause::kSelf ||
                                loss.cause == LossCause::kLevel || loss.cause == LossCause::kProfiling ||
                                loss.cause == LossCause::kBackground;
      if (is_collision && loss.link.valid() && IsBetweenSwitches(run_.fabric.tier(loss.link)))
        colliding.insert(loss.link);
    }
  }
  result->colliding_links = colliding.size();
}

// The rows of the job's account, and what rests of the time that it has lost.
void ResultCollector::CollectLossesOf(JobResult* job) const {
  const auto& rows = run_.delays.losses.index();
  double rest_s = job->lost_s;
  for (auto row = rows.lower_bound({job->id, LossCause{}, JobId(0), LinkId(0)});
       row != rows.end() && row->first.victim == job->id; ++row) {
    const LossKey& key = row->first;
    const LostTime& lost = run_.delays.losses.values()[row->second];
    rest_s -= lost.s;
    if (key.cause == LossCause::kNotAttributed) {
      rest_s += lost.s;
      continue;
    }
    if (lost.s <= kNegligibleLoss * job->held_s) continue;
    job->lost_gpu_hours += lost.gpu_s / 3600;
    job->lost_to.push_back({.cause = key.cause,
                            .culprit = key.culprit,
                            .link = key.link,
                            .link_name = key.link.valid() ? run_.fabric.LinkName(key.link) : "",
                            .lost_s = lost.s,
                            .gpu_hours = lost.gpu_s / 3600});
  }
  std::stable_sort(job->lost_to.begin(), job->lost_to.end(),
                   [](const LossResult& a, const LossResult& b) { return a.lost_s > b.lost_s; });
  if (rest_s <= kNegligibleLoss * job->held_s) return;
  const double gpu_hours = rest_s * job->num_gpus / 3600;
  job->lost_gpu_hours += gpu_hours;
  job->lost_to.push_back({LossCause::kNotAttributed, JobId(), LinkId(), "", rest_s, gpu_hours});
}

// Bins of the timeline up to the end of the run.
size_t ResultCollector::NumBinsReached() const {
  const int64_t bin_ns = run_.busy_gpu_seconds.bin_ns();
  return static_cast<size_t>(std::min<int64_t>(run_.num_bins, (run_.end.ns() + bin_ns - 1) / bin_ns));
}

void ResultCollector::CollectTimeline(RunResult* result) const {
  Timeline& timeline = result->timeline;
  const int64_t bin_ns = run_.busy_gpu_seconds.bin_ns();
  timeline.bin_s = static_cast<double>(bin_ns) * 1e-9;
  const size_t num_bins = NumBinsReached();
  std::vector<double>& held = timeline.held_gpu_s;
  held.assign(num_bins, 0);
  timeline.running_jobs.assign(num_bins, 0);
  for (const auto& [id, record] : run_.jobs) {
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
  for (size_t i = 0; i < run_.fabric.num_links(); ++i) {
    if (!topology::IsNetwork(run_.fabric.tier(LinkId(i)))) continue;
    capacity += run_.fabric.capacity(LinkId(i)).value();
    const std::vector<float>& bins = run_.carried.bins[LinkId(i)];
    for (size_t b = 0; b < std::min(num_bins, bins.size()); ++b) carried[b] += bins[b];
  }
  for (size_t b = 0; b < num_bins; ++b) {
    timeline.gpu_busy.push_back(held[b] > 0 ? run_.busy_gpu_seconds.bins()[b] / held[b] : 0);
    // The last bin may end with the run.
    const double covered_s = std::min(timeline.bin_s, result->simulated_s - static_cast<double>(b) * timeline.bin_s);
    timeline.network_load.push_back(capacity > 0 && covered_s > 0 ? carried[b] / (capacity * covered_s) : 0);
  }
}

}  // namespace

void CollectResult(const RunAccounts& run, RunResult* result) {
  const ResultCollector collector(run);
  collector.CollectJobs(result);
  collector.CollectDelays(result);
  if (run.queues != nullptr) collector.CollectCongestion(result);
  if (run.migrates) collector.CollectMigrations(result);
  collector.CollectUtilization(result);
  collector.CollectLinks(result);
  collector.CollectLoadOfHottestLinks(result);
  collector.CollectTimeline(result);
}

}  // namespace fairlead::sim
