#include "sim/contention_domain.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "base/random.h"

namespace fairlead::sim {

namespace {

constexpr int64_t kNeverNs = std::numeric_limits<int64_t>::max();

// What makes two transfers of one phase one variable.
using VariableKey = std::tuple<uint32_t, double, double, double, std::vector<std::pair<LinkId, uint32_t>>>;

LinkId TightestLink(const TransferRoute& route, const IdVector<LinkId, double>& capacities) {
  LinkId tightest;
  double rate = std::numeric_limits<double>::infinity();
  for (const TransferLink& use : route.links) {
    const double own = capacities[use.link] / use.multiplicity;
    if (own < rate) {
      rate = own;
      tightest = use.link;
    }
  }
  return tightest;
}

}  // namespace

ContentionDomain::ContentionDomain(std::vector<JobState*> jobs,
                                   const std::vector<const std::vector<TransferRoute>*>& routes,
                                   const LinkSharing& sharing, const IdVector<LinkId, double>& capacities,
                                   SimTime start, const DomainOptions& options, BinnedSum* busy)
    : jobs_(std::move(jobs)), runtimes_(jobs_.size()), busy_(busy), options_(options), offset_ns_(start.ns()) {
  BuildVariables(routes, sharing, capacities);
  ComputeLeastIterations();
  Resume();
}

void ContentionDomain::BuildVariables(const std::vector<const std::vector<TransferRoute>*>& routes,
                                      const LinkSharing& sharing, const IdVector<LinkId, double>& capacities) {
  std::vector<double> local_capacities;
  std::vector<std::vector<fluid::LinkUse>> uses;  // [variable]
  std::map<LinkId, uint32_t> local_of;            // contended links
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    const JobState& job = *jobs_[j];
    std::map<VariableKey, uint32_t> by_key;
    runtimes_[j].first_variable.assign(job.clock.start_ns.size() + 1, static_cast<uint32_t>(variables_.size()));
    for (uint32_t t = 0; t < job.transfers.size(); ++t) {
      const Transfer& transfer = job.transfers[t];
      const TransferRoute& route = (*routes[j])[t];
      std::vector<std::pair<LinkId, uint32_t>> contended;
      double contended_rate = std::numeric_limits<double>::infinity();
      for (const TransferLink& use : route.links) {
        if (!sharing.is_contended[use.link]) continue;
        contended.emplace_back(use.link, use.multiplicity);
        contended_rate = std::min(contended_rate, capacities[use.link] / use.multiplicity);
      }
      const double left = job.is_phase_running && job.phase == transfer.phase ? job.remaining[t] : transfer.bytes;
      const auto [entry, is_new] =
          by_key.try_emplace({transfer.phase, transfer.bytes, left, route.top_rate, contended}, variables_.size());
      if (!is_new) {
        variables_[entry->second].transfers.push_back(t);
        continue;
      }
      uses.emplace_back();
      for (const auto& [link, multiplicity] : contended) {
        const auto [local, is_new_link] = local_of.try_emplace(link, links_.size());
        if (is_new_link) {
          links_.push_back(link);
          local_capacities.push_back(capacities[link]);
          link_users_.emplace_back();
        }
        uses.back().push_back({local->second, multiplicity});
        link_users_[local->second].push_back({static_cast<uint32_t>(variables_.size()), multiplicity});
      }
      // A link of its own holds the variable to its top rate where no contended link does. Its capacity is set below.
      if (contended_rate > route.top_rate || contended.empty()) {
        uses.back().push_back({static_cast<uint32_t>(links_.size()), 1});
        links_.push_back(LinkId());
        local_capacities.push_back(route.top_rate);
        link_users_.push_back({{static_cast<uint32_t>(variables_.size()), 1}});
      }
      variables_.push_back({.job = j,
                            .phase = transfer.phase,
                            .bytes = transfer.bytes,
                            .top_rate = route.top_rate,
                            .transfers = {t},
                            .tightest = TightestLink(route, capacities)});
      for (size_t p = transfer.phase + 1; p < runtimes_[j].first_variable.size(); ++p) {
        runtimes_[j].first_variable[p] = static_cast<uint32_t>(variables_.size());
      }
    }
  }
  // A variable of k transfers is k times as fast, wide and heavy as one.
  for (uint32_t v = 0; v < variables_.size(); ++v) {
    const fluid::LinkUse& last = uses[v].back();
    if (!links_[last.link].valid()) local_capacities[last.link] *= static_cast<double>(variables_[v].transfers.size());
  }
  network_ = std::make_unique<fluid::FlowNetwork>(local_capacities);
  for (uint32_t v = 0; v < variables_.size(); ++v) {
    const auto weight = static_cast<double>(variables_[v].transfers.size());
    variables_[v].flow = network_->AddFlow(uses[v], jobs_[variables_[v].job]->level, weight);
    const size_t index = variables_[v].flow.index();
    if (variable_of_flow_.size() <= index) variable_of_flow_.resize(index + 1);
    variable_of_flow_[index] = v;
  }
}

void ContentionDomain::ComputeLeastIterations() {
  int64_t longest = -1;
  int64_t shortest = kNeverNs;
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    const IterationClock& clock = jobs_[j]->clock;
    const size_t num_phases = clock.start_ns.size();
    // least[p]: time that phase p takes alone.
    int64_t blocking = 0;
    int64_t tail = 0;
    int64_t least = clock.total_ns;
    for (size_t p = num_phases; p-- > 0;) {
      double seconds = 0;
      for (uint32_t v = runtimes_[j].first_variable[p]; v < runtimes_[j].first_variable[p + 1]; ++v) {
        if (variables_[v].top_rate > 0) seconds = std::max(seconds, variables_[v].bytes / variables_[v].top_rate);
      }
      // Rounding of completions to the nanosecond may make the phase one shorter.
      const int64_t phase_ns = std::max<int64_t>(0, SimDuration::FromSeconds(Seconds(seconds)).ns() - 1);
      tail += phase_ns;
      if (clock.blocks[p]) blocking += phase_ns;
      least = std::max(least, clock.start_ns[p] + tail);
    }
    least = std::max<int64_t>(1, std::max(least, clock.total_ns + blocking));
    runtimes_[j].least_iteration_ns = least;
    shortest = std::min(shortest, least);
    if (least > longest) {
      longest = least;
      anchor_ = j;
    }
  }
  if (options_.samples_per_iteration > 0) {
    sample_step_ns_ = std::max<int64_t>(1, shortest / options_.samples_per_iteration);
    next_sample_ns_ = sample_step_ns_ / 2;
  }
}

void ContentionDomain::Resume() {
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    JobState& job = *jobs_[j];
    Runtime& runtime = runtimes_[j];
    FL_CHECK(!job.is_finished);
    runtime.timer_ns = kNeverNs;
    runtime.has_begun = job.iteration_start.ns() < offset_ns_ || job.iterations_done > 0 || job.progress_ns > 0;
    if (job.is_phase_running) {
      for (uint32_t v = runtime.first_variable[job.phase]; v < runtime.first_variable[job.phase + 1]; ++v) {
        const double left = job.remaining[variables_[v].transfers.front()];
        if (left <= 0) continue;
        network_->Start(variables_[v].flow, left * static_cast<double>(variables_[v].transfers.size()));
        ++runtime.num_active;
      }
      if (runtime.num_active == 0) EndPhase(j);
    }
    if (runtime.has_begun) {
      StepJob(j);
    } else {
      runtime.timer_ns = job.iteration_start.ns() - offset_ns_;
      if (runtime.timer_ns <= 0) StepJob(j);
    }
  }
}

void ContentionDomain::Suspend() {
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    SyncComputeClock(j);
    JobState& job = *jobs_[j];
    job.observed_until = now();
    if (!job.is_phase_running) continue;
    for (uint32_t v = runtimes_[j].first_variable[job.phase]; v < runtimes_[j].first_variable[job.phase + 1]; ++v) {
      const Variable& variable = variables_[v];
      const double left = network_->Remaining(variable.flow) / static_cast<double>(variable.transfers.size());
      for (uint32_t t : variable.transfers) job.remaining[t] = left;
    }
  }
}

SimTime ContentionDomain::FinishLowerBound() {
  int64_t bound = kNeverNs;
  const int64_t next_event = NextEventNs();
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    const JobState& job = *jobs_[j];
    if (job.num_iterations == 0) continue;
    const auto left = static_cast<double>(job.num_iterations - job.iterations_done);
    // A job that would end after the end of time has no end.
    if (left * static_cast<double>(runtimes_[j].least_iteration_ns) > 4e18) continue;
    const int64_t end = job.iteration_start.ns() + static_cast<int64_t>(job.num_iterations - job.iterations_done) *
                                                       runtimes_[j].least_iteration_ns;
    bound = std::min(bound, end);
  }
  if (bound == kNeverNs) return SimTime::Never();
  if (next_event == kNeverNs) return SimTime::Never();
  return SimTime(std::max(bound, next_event + offset_ns_));
}

int64_t ContentionDomain::NextEventNs() {
  int64_t next = network_->NextCompletion().ns();
  for (const Runtime& runtime : runtimes_) next = std::min(next, runtime.timer_ns);
  return next;
}

void ContentionDomain::AdvanceTo(SimTime limit, RunWatch& watch) {
  while (!has_finished_job_ && !watch.ShouldStop(now())) {
    const int64_t next = NextEventNs();
    const int64_t limit_ns = limit.ns() - offset_ns_;
    if (next > limit_ns) {
      SampleUntil(limit_ns);
      completed_.clear();
      network_->AdvanceTo(SimTime(limit_ns), &completed_);
      FL_CHECK(completed_.empty());
      local_now_ns_ = limit_ns;
      return;
    }
    SampleUntil(next);
    PlayEventsAt(next);
    if (anchor_ended_iteration_ && options_.fast_forward && !has_finished_job_) TryFastForward(limit_ns);
  }
}

void ContentionDomain::PlayEventsAt(int64_t local_ns) {
  anchor_ended_iteration_ = false;
  completed_.clear();
  network_->AdvanceTo(SimTime(local_ns), &completed_);
  local_now_ns_ = local_ns;
  due_.clear();
  for (fluid::FlowId flow : completed_) {
    const uint32_t j = variables_[variable_of_flow_[flow.index()]].job;
    if (--runtimes_[j].num_active > 0) continue;
    EndPhase(j);
    due_.push_back(j);
  }
  for (uint32_t j = 0; j < runtimes_.size(); ++j) {
    if (runtimes_[j].timer_ns == local_ns) due_.push_back(j);
  }
  std::sort(due_.begin(), due_.end());
  due_.erase(std::unique(due_.begin(), due_.end()), due_.end());
  for (uint32_t j : due_) StepJob(j);
}

void ContentionDomain::StepJob(uint32_t j) {
  JobState& job = *jobs_[j];
  Runtime& runtime = runtimes_[j];
  if (!runtime.has_begun) {
    runtime.has_begun = true;
    runtime.computing_since_ns = local_now_ns_;
  }
  SyncComputeClock(j);
  for (;;) {
    const size_t num_phases = job.clock.start_ns.size();
    if (job.is_phase_running) break;
    if (job.phase < num_phases) {
      if (job.progress_ns < job.clock.start_ns[job.phase]) break;
      StartPhase(j);
    } else {
      if (job.progress_ns < job.clock.total_ns) break;
      EndIteration(j);
      if (job.is_finished) return;
    }
  }
  SetTimer(j);
}

void ContentionDomain::SetTimer(uint32_t j) {
  const JobState& job = *jobs_[j];
  Runtime& runtime = runtimes_[j];
  const size_t num_phases = job.clock.start_ns.size();
  // The compute clock may run up to the first blocking phase that is not over.
  int64_t compute_limit = job.clock.total_ns;
  for (size_t p = job.phase; p < num_phases; ++p) {
    if (!job.clock.blocks[p]) continue;
    compute_limit = job.clock.start_ns[p];
    break;
  }
  runtime.is_computing = job.progress_ns < compute_limit;
  runtime.computing_since_ns = local_now_ns_;
  if (!runtime.is_computing) {
    runtime.timer_ns = kNeverNs;
    return;
  }
  int64_t target = compute_limit;
  if (!job.is_phase_running && job.phase < num_phases) target = std::min(target, job.clock.start_ns[job.phase]);
  runtime.timer_ns = local_now_ns_ + (target - job.progress_ns);
}

void ContentionDomain::SyncComputeClock(uint32_t j) {
  Runtime& runtime = runtimes_[j];
  if (!runtime.is_computing || runtime.computing_since_ns == local_now_ns_) return;
  JobState& job = *jobs_[j];
  const int64_t elapsed = local_now_ns_ - runtime.computing_since_ns;
  job.progress_ns += elapsed;
  FL_DCHECK(job.progress_ns <= job.clock.total_ns);
  busy_->Add(Global(runtime.computing_since_ns), Global(local_now_ns_),
             static_cast<double>(elapsed) * 1e-9 * job.clock.busy_fraction * job.num_gpus);
  runtime.computing_since_ns = local_now_ns_;
}

void ContentionDomain::StartPhase(uint32_t j) {
  JobState& job = *jobs_[j];
  Runtime& runtime = runtimes_[j];
  job.is_phase_running = true;
  job.activity_since = Global(local_now_ns_);
  job.activity_counted = 0;
  for (uint32_t v = runtime.first_variable[job.phase]; v < runtime.first_variable[job.phase + 1]; ++v) {
    const Variable& variable = variables_[v];
    network_->Start(variable.flow, variable.bytes * static_cast<double>(variable.transfers.size()));
    ++runtime.num_active;
  }
  if (runtime.num_active == 0) EndPhase(j);
}

void ContentionDomain::EndPhase(uint32_t j) {
  JobState& job = *jobs_[j];
  BinnedSum::Spread(job.activity_since, Global(local_now_ns_), static_cast<float>(1 - job.activity_counted),
                    job.activity[job.phase], busy_->bin_ns());
  ++job.phase_runs[job.phase];
  job.is_phase_running = false;
  ++job.phase;
}

void ContentionDomain::EndIteration(uint32_t j) {
  JobState& job = *jobs_[j];
  const SimTime now = Global(local_now_ns_);
  FL_CHECK_MSG(now > job.iteration_start, "an iteration must take time");
  ++job.iterations_done;
  job.event_hash = CombineHash(job.event_hash, static_cast<uint64_t>(now.ns()));
  job.last_iteration_end = now;
  job.iteration_start = now;
  job.progress_ns = 0;
  job.phase = 0;
  if (j == anchor_) anchor_ended_iteration_ = true;
  if (job.num_iterations == 0 || job.iterations_done < job.num_iterations) return;
  job.is_finished = true;
  job.finish_time = now;
  has_finished_job_ = true;
  runtimes_[j].timer_ns = kNeverNs;
  runtimes_[j].is_computing = false;
}

// The state is constant up to the next event, so all samples before it see the same.
void ContentionDomain::SampleUntil(int64_t local_ns) {
  if (sample_step_ns_ == 0 || next_sample_ns_ > local_ns) return;
  const int64_t count = (local_ns - next_sample_ns_) / sample_step_ns_ + 1;
  next_sample_ns_ += count * sample_step_ns_;
  Sample(static_cast<double>(count * sample_step_ns_) * 1e-9);
}

void ContentionDomain::Sample(double weight_s) {
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    if (jobs_[j]->is_phase_running) SampleJob(j, weight_s);
  }
}

void ContentionDomain::SampleJob(uint32_t j, double weight_s) {
  const JobState& job = *jobs_[j];
  // The transfer that ends last at present rates is the one the job waits for.
  const Variable* slowest = nullptr;
  double slowest_rate = 0;
  double longest = -1;
  for (uint32_t v = runtimes_[j].first_variable[job.phase]; v < runtimes_[j].first_variable[job.phase + 1]; ++v) {
    const double left = network_->Remaining(variables_[v].flow);
    if (left <= 0) continue;
    const double rate = network_->Rate(variables_[v].flow);
    const double seconds = rate > 0 ? left / rate : std::numeric_limits<double>::infinity();
    if (seconds <= longest) continue;
    longest = seconds;
    slowest = &variables_[v];
    slowest_rate = rate;
  }
  if (slowest == nullptr) return;
  const uint32_t local_link = network_->BottleneckLink(slowest->flow);
  if (local_link >= links_.size() || !links_[local_link].valid()) {
    contention_.Add({job.id, JobId(), slowest->tightest}, {.shared_s = weight_s});
    return;
  }
  const double alone = slowest->top_rate * static_cast<double>(slowest->transfers.size());
  const double lost_s = alone > 0 ? weight_s * std::max(0.0, 1 - slowest_rate / alone) : weight_s;
  const LinkId link = links_[local_link];
  contention_.Add({job.id, JobId(), link}, {.shared_s = weight_s, .lost_s = lost_s});

  double load_of_others = 0;
  double load_of_all = 0;
  for (const LinkUser& user : link_users_[local_link]) {
    const double load = network_->Rate(variables_[user.variable].flow) * user.multiplicity;
    load_of_all += load;
    if (variables_[user.variable].job != j) load_of_others += load;
  }
  // Blame goes by share of the link; where no other job is on it, the job's own transfers are in each other's way.
  const double blamed_load = load_of_others > 0 ? load_of_others : load_of_all;
  if (blamed_load <= 0) return;
  for (const LinkUser& user : link_users_[local_link]) {
    const Variable& other = variables_[user.variable];
    if (load_of_others > 0 && other.job == j) continue;
    const double load = network_->Rate(other.flow) * user.multiplicity;
    if (load <= 0) continue;
    const JobState& culprit = *jobs_[other.job];
    const double blamed_s = lost_s * load / blamed_load;
    contention_.Add({job.id, culprit.id, link}, {.shared_s = weight_s * load / blamed_load,
                                                 .lost_s = blamed_s,
                                                 .yielded_s = job.level > culprit.level ? blamed_s : 0});
  }
}

DomainSnapshot ContentionDomain::TakeSnapshot() const {
  DomainSnapshot snapshot;
  snapshot.local_ns = local_now_ns_;
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    const JobState& job = *jobs_[j];
    const Runtime& runtime = runtimes_[j];
    snapshot.discrete.push_back(job.phase * 4u + job.is_phase_running * 2u + runtime.is_computing);
    int64_t progress = job.progress_ns;
    if (runtime.is_computing) progress += local_now_ns_ - runtime.computing_since_ns;
    if (!runtime.has_begun) progress = local_now_ns_ - runtime.timer_ns;  // still to come: negative, never repeats
    snapshot.progress_ns.push_back(progress);
    if (!job.is_phase_running) continue;
    for (uint32_t v = runtime.first_variable[job.phase]; v < runtime.first_variable[job.phase + 1]; ++v) {
      const double top = variables_[v].top_rate * static_cast<double>(variables_[v].transfers.size());
      snapshot.left_ns.push_back(top > 0 ? network_->Remaining(variables_[v].flow) / top * 1e9 : 0);
    }
  }
  return snapshot;
}

ContentionDomain::Counters ContentionDomain::TakeCounters() const {
  Counters counters;
  for (const JobState* job : jobs_) {
    counters.iterations.push_back(job->iterations_done);
    counters.phase_runs.insert(counters.phase_runs.end(), job->phase_runs.begin(), job->phase_runs.end());
  }
  counters.contention = contention_.values();
  return counters;
}

void ContentionDomain::TryFastForward(int64_t limit_ns) {
  const auto period = detector_.Observe(TakeSnapshot());
  counters_.push_back(TakeCounters());
  if (counters_.size() > PeriodDetector::kMaxLag + 1) counters_.pop_front();
  if (!period) return;
  const Counters& then = counters_[counters_.size() - 1 - period->lag];
  const int64_t num_periods = PeriodsThatFit(*period, then, limit_ns);
  if (num_periods >= 1) Jump(*period, then, num_periods);
}

int64_t ContentionDomain::PeriodsThatFit(const Period& period, const Counters& then, int64_t limit_ns) const {
  int64_t fit = (limit_ns - local_now_ns_) / period.length_ns;
  for (size_t j = 0; j < jobs_.size(); ++j) {
    const JobState& job = *jobs_[j];
    const uint64_t per_period = job.iterations_done - then.iterations[j];
    if (job.num_iterations == 0 || per_period == 0) continue;
    // The last iteration is always played, so that the end comes out exactly.
    const uint64_t left = job.num_iterations - job.iterations_done - 1;
    fit = std::min<int64_t>(fit, static_cast<int64_t>(left / per_period));
  }
  return fit;
}

void ContentionDomain::Jump(const Period& period, const Counters& then, int64_t num_periods) {
  const SimTime from = Global(local_now_ns_);
  const int64_t skipped_ns = num_periods * period.length_ns;
  const SimTime to = from + SimDuration(skipped_ns);
  const auto times = static_cast<uint64_t>(num_periods);
  std::vector<uint64_t> iterations_more(jobs_.size());
  std::vector<uint64_t> runs_more;
  for (size_t j = 0, run = 0; j < jobs_.size(); ++j) {
    JobState& job = *jobs_[j];
    SyncComputeClock(static_cast<uint32_t>(j));
    iterations_more[j] = times * (job.iterations_done - then.iterations[j]);
    job.iterations_done += iterations_more[j];
    for (size_t p = 0; p < job.phase_runs.size(); ++p, ++run) {
      const uint64_t more = times * (job.phase_runs[p] - then.phase_runs[run]);
      runs_more.push_back(more);
      job.phase_runs[p] += more;
      BinnedSum::Spread(from, to, static_cast<float>(more), job.activity[p], busy_->bin_ns());
    }
    busy_->Add(from, to,
               static_cast<double>(iterations_more[j]) * static_cast<double>(job.clock.total_ns) * 1e-9 *
                   job.clock.busy_fraction * job.num_gpus);
    if (runtimes_[j].has_begun) {
      job.iteration_start = job.iteration_start + SimDuration(skipped_ns);
      job.activity_since = job.activity_since + SimDuration(skipped_ns);
      if (iterations_more[j] > 0) job.last_iteration_end = job.last_iteration_end + SimDuration(skipped_ns);
    }
    job.jumped_ns += skipped_ns;
    job.jump_error = std::max(job.jump_error, period.error_ns / static_cast<double>(skipped_ns));
    job.event_hash = CombineHash(job.event_hash, static_cast<uint64_t>(to.ns()) ^ iterations_more[j]);
  }
  std::vector<ContentionValue> contention_more(contention_.values().size());
  for (size_t i = 0; i < contention_more.size(); ++i) {
    const ContentionValue before = i < then.contention.size() ? then.contention[i] : ContentionValue();
    const ContentionValue& current = contention_.values()[i];
    const auto k = static_cast<double>(num_periods);
    contention_more[i] = {.shared_s = k * (current.shared_s - before.shared_s),
                          .lost_s = k * (current.lost_s - before.lost_s),
                          .yielded_s = k * (current.yielded_s - before.yielded_s)};
    contention_.at(i) += contention_more[i];
  }
  // Earlier counters move along, so that differences to them still count the periods that were played.
  for (Counters& counters : counters_) {
    for (size_t j = 0; j < jobs_.size(); ++j) counters.iterations[j] += iterations_more[j];
    for (size_t i = 0; i < runs_more.size(); ++i) counters.phase_runs[i] += runs_more[i];
    counters.contention.resize(contention_more.size());
    for (size_t i = 0; i < contention_more.size(); ++i) counters.contention[i] += contention_more[i];
  }
  offset_ns_ += skipped_ns;
}

}  // namespace fairlead::sim
