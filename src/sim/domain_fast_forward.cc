// Fast-forward of a domain: where its jobs repeat themselves, all counters move on by whole periods at once.
#include <algorithm>
#include <limits>
#include <utility>

#include "base/random.h"
#include "sim/contention_domain.h"

namespace fairlead::sim {

namespace {

// The phase under way is the same one, and was held up in the same way in each period that is skipped.
void LengthenDelays(JobState& job, const std::vector<double>& then, double num_periods) {
  for (size_t i = 0; i < job.delay_shares.size(); ++i) {
    double& weight_s = job.delay_shares[i].weight_s;
    weight_s += num_periods * (weight_s - (i < then.size() ? then[i] : 0));
  }
}

// Where the job is on its grid, and began its iterations, decides when the next ones begin.
void AppendShiftState(const JobState& job, SimTime now, DomainSnapshot* snapshot) {
  const traffic::ShiftProgress& progress = job.shift_progress;
  snapshot->discrete.push_back(progress.iterations * 4u + progress.is_aligned * 2u + job.waits_for_shift);
  if (progress.is_aligned && job.time_shift->upkeep == traffic::ShiftUpkeep::kNever) return;
  snapshot->progress_ns.push_back(job.time_shift->NsAfterGrid(now));
  snapshot->progress_ns.push_back((now - job.iteration_start).ns());
  snapshot->progress_ns.push_back((now - job.last_iteration_start).ns());
}

}  // namespace

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
    if (job.time_shift) AppendShiftState(job, now(), &snapshot);
    if (!job.is_phase_running) continue;
    for (uint32_t v = runtime.first_variable[job.phase]; v < runtime.first_variable[job.phase + 1]; ++v) {
      const double top = variables_[v].top_rate * variables_[v].width;
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
  counters.losses = delays_.losses.values();
  counters.bounds = delays_.bounds.values();
  for (const JobState* job : jobs_) {
    std::vector<double>& weights = counters.delay_shares.emplace_back();
    for (const DelayShare& share : job->delay_shares) weights.push_back(share.weight_s);
  }
  if (congestion_ != nullptr) counters.congestion = congestion_->totals();
  return counters;
}

void ContentionDomain::TryFastForward(int64_t limit_ns) {
  if (congestion_ != nullptr) congestion_->CountUntil(local_now_ns_);
  AttributeViews();
  if (TryJumpPeriods(limit_ns)) return;
  if (options_.extrapolate) TryExtrapolate(limit_ns);
}

// True when the domain repeats itself, whether or not a period fits.
bool ContentionDomain::TryJumpPeriods(int64_t limit_ns) {
  if (settled_rates_) return false;
  const auto period = detector_.Observe(TakeSnapshot());
  counters_.push_back(TakeCounters());
  if (counters_.size() > PeriodDetector::kMaxLag + 1) counters_.pop_front();
  if (!period) return false;
  const Counters& then = counters_[counters_.size() - 1 - period->lag];
  const int64_t num_periods = PeriodsThatFit(*period, then, limit_ns);
  if (num_periods >= 1) Jump(*period, then, num_periods);
  return true;
}

// Continues at mean speeds; the rest of the iterations under way is simulated from its present state.
void ContentionDomain::TryExtrapolate(int64_t limit_ns) {
  if (!settled_rates_) settled_rates_ = rate_window_.Look(local_now_ns_);
  if (!settled_rates_) return;
  const int64_t length_ns = LengthToExtrapolate(limit_ns);
  // Not worth it, and the end of the stretch is simulated anyway.
  if (length_ns < runtimes_[anchor_].least_iteration_ns) return;
  // Relative to the totals: simulated, and skipped before.
  const double more_of_all = static_cast<double>(length_ns) / static_cast<double>((now() - start_).ns());
  if (congestion_ != nullptr) {
    for (CongestionTotals& totals : congestion_->totals()) totals.Add(CongestionTotals(totals), more_of_all);
  }
  for (double& bound_s : delays_.bounds.values()) bound_s *= 1 + more_of_all;
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    JobState& job = *jobs_[j];
    const double completed = settled_rates_->iterations_per_ns[j] * static_cast<double>(length_ns);
    const double more = completed + job.iteration_carry;
    const uint64_t whole = WholeIterations(j, more, length_ns);
    job.iteration_carry = more - static_cast<double>(whole);
    const std::vector<uint64_t> phase_runs(job.phase_runs.size(), whole);
    if (options_.follows_delays) {
      const double useful_ns = completed * static_cast<double>(job.solo.iteration_ns);
      delays_.AttributeMore(job, (static_cast<double>(length_ns) - useful_ns) * 1e-9);
    }
    MoveClockOf(job, SimDuration(length_ns));
    JumpJob(j, whole, phase_runs, SimDuration(length_ns), settled_rates_->spread * static_cast<double>(length_ns));
  }
  offset_ns_ += length_ns;
}

// Up to the limit, but the last two iterations of a job are simulated.
int64_t ContentionDomain::LengthToExtrapolate(int64_t limit_ns) const {
  auto length_ns = static_cast<double>(limit_ns - local_now_ns_);
  for (size_t j = 0; j < jobs_.size(); ++j) {
    const JobState& job = *jobs_[j];
    if (job.num_iterations == 0) continue;
    const double left = static_cast<double>(job.num_iterations - job.iterations_done) - 3;
    length_ns = std::min(length_ns, left / settled_rates_->iterations_per_ns[j]);
  }
  return static_cast<int64_t>(std::max(0.0, length_ns));
}

int64_t ContentionDomain::PeriodsThatFit(const Period& period, const Counters& then, int64_t limit_ns) const {
  int64_t fit = (limit_ns - local_now_ns_) / period.length_ns;
  for (size_t j = 0; j < jobs_.size(); ++j) {
    const JobState& job = *jobs_[j];
    const uint64_t per_period = job.iterations_done - then.iterations[j];
    if (job.num_iterations == 0 || per_period == 0) continue;
    // The last iteration is always simulated, so that the end comes out exactly.
    const uint64_t left = job.num_iterations - job.iterations_done - 1;
    fit = std::min<int64_t>(fit, static_cast<int64_t>(left / per_period));
    // A state that only converges may repeat itself a little sooner than the least iterations allow.
    const double too_early_ns = static_cast<double>(per_period) * static_cast<double>(runtimes_[j].least_iteration_ns) -
                                static_cast<double>(period.length_ns);
    if (too_early_ns <= 0) continue;
    fit = std::min(fit,
                   static_cast<int64_t>(static_cast<double>(FinishSlackNs(static_cast<uint32_t>(j))) / too_early_ns));
  }
  return fit;
}

// How much sooner than its least iterations allow the job may finish without violating an earlier FinishLowerBound().
int64_t ContentionDomain::FinishSlackNs(uint32_t j) const {
  constexpr int64_t kUnlimitedNs = std::numeric_limits<int64_t>::max() / 4;
  return std::clamp(FinishBoundNs(j, now().ns()) - promised_finish_ns_, int64_t{0}, kUnlimitedNs);
}

// Of the `owed` iterations, those that job j may be given at once, in `length_ns`. Time owed by earlier stretches would
// otherwise make it finish before FinishLowerBound(), up to which others have been simulated.
uint64_t ContentionDomain::WholeIterations(uint32_t j, double owed, int64_t length_ns) const {
  const JobState& job = *jobs_[j];
  const auto whole = static_cast<uint64_t>(owed);
  if (job.num_iterations == 0) return whole;
  const int64_t fit = (length_ns + FinishSlackNs(j)) / runtimes_[j].least_iteration_ns;
  return std::min({whole, static_cast<uint64_t>(fit), job.num_iterations - job.iterations_done - 1});
}

ContentionDomain::Counters ContentionDomain::CountMore(const Counters& then, uint64_t times) const {
  Counters more = TakeCounters();
  for (size_t j = 0; j < more.iterations.size(); ++j) {
    more.iterations[j] = times * (more.iterations[j] - then.iterations[j]);
  }
  for (size_t i = 0; i < more.phase_runs.size(); ++i) {
    more.phase_runs[i] = times * (more.phase_runs[i] - then.phase_runs[i]);
  }
  const auto k = static_cast<double>(times);
  for (size_t i = 0; i < more.losses.size(); ++i) {
    more.losses[i] = k * (more.losses[i] - (i < then.losses.size() ? then.losses[i] : LostTime()));
  }
  for (size_t i = 0; i < more.bounds.size(); ++i) {
    more.bounds[i] = k * (more.bounds[i] - (i < then.bounds.size() ? then.bounds[i] : 0));
  }
  for (size_t j = 0; j < more.congestion.size(); ++j) {
    CongestionTotals change;
    change.Add(more.congestion[j], k);
    change.Add(then.congestion[j], -k);
    more.congestion[j] = change;
  }
  return more;
}

void ContentionDomain::Jump(const Period& period, const Counters& then, int64_t num_periods) {
  const SimDuration skipped(num_periods * period.length_ns);
  Counters more = CountMore(then, static_cast<uint64_t>(num_periods));
  ScaleLosses(more.iterations, skipped, &more.losses);
  auto phase_runs_more = std::span(more.phase_runs);
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    const size_t num_phases = jobs_[j]->phase_runs.size();
    if (more.iterations[j] > 0) {
      MoveClockOf(*jobs_[j], skipped);
    } else {
      LengthenDelays(*jobs_[j], then.delay_shares[j], static_cast<double>(num_periods));
    }
    // Each of the periods may be off by as much.
    const double error_ns = period.error_ns * static_cast<double>(num_periods);
    JumpJob(j, more.iterations[j], phase_runs_more.first(num_phases), skipped, error_ns);
    phase_runs_more = phase_runs_more.subspan(num_phases);
  }
  for (size_t i = 0; i < more.losses.size(); ++i) delays_.losses.values()[i] += more.losses[i];
  for (size_t i = 0; i < more.bounds.size(); ++i) delays_.bounds.values()[i] += more.bounds[i];
  for (size_t j = 0; j < more.congestion.size(); ++j) congestion_->totals()[j].Add(more.congestion[j]);
  // Earlier counters move along, so that differences to them still count the periods that were simulated.
  for (Counters& counters : counters_) {
    for (size_t j = 0; j < jobs_.size(); ++j) counters.iterations[j] += more.iterations[j];
    for (size_t i = 0; i < more.phase_runs.size(); ++i) counters.phase_runs[i] += more.phase_runs[i];
    counters.losses.resize(more.losses.size());
    for (size_t i = 0; i < more.losses.size(); ++i) counters.losses[i] += more.losses[i];
    counters.bounds.resize(more.bounds.size());
    for (size_t i = 0; i < more.bounds.size(); ++i) counters.bounds[i] += more.bounds[i];
    for (size_t j = 0; j < more.congestion.size(); ++j) counters.congestion[j].Add(more.congestion[j]);
  }
  offset_ns_ += skipped.ns();
}

void ContentionDomain::JumpJob(uint32_t j, uint64_t iterations_more, std::span<const uint64_t> phase_runs_more,
                               SimDuration skipped, double error_ns) {
  JobState& job = *jobs_[j];
  const SimTime from = now();
  const SimTime to = from + skipped;
  SyncComputeClock(j);
  job.iterations_done += iterations_more;
  for (size_t p = 0; p < job.phase_runs.size(); ++p) {
    job.phase_runs[p] += phase_runs_more[p];
    BinnedSum::Spread(from, to, static_cast<float>(phase_runs_more[p]), job.activity[p], busy_->bin_ns());
  }
  busy_->Add(from, to,
             static_cast<double>(iterations_more) * static_cast<double>(job.clock.total_ns) * 1e-9 *
                 job.clock.busy_fraction * job.num_gpus);
  job.activity_since = job.activity_since + skipped;
  if (iterations_more > 0) job.last_iteration_end = job.last_iteration_end + skipped;
  job.jumped_ns += skipped.ns();
  job.jump_error = std::max(job.jump_error, error_ns / static_cast<double>(skipped.ns()));
  job.event_hash = CombineHash(job.event_hash, static_cast<uint64_t>(to.ns()) ^ iterations_more);
}

// A period that only converges does not end quite where it began: its losses become those of the time that is skipped.
void ContentionDomain::ScaleLosses(std::span<const uint64_t> iterations, SimDuration skipped,
                                   std::vector<LostTime>* losses) const {
  const std::vector<const LossKey*> keys = delays_.losses.KeysByPlace();
  std::map<JobId, double> scales;  // first the sums
  for (size_t i = 0; i < losses->size(); ++i) scales[keys[i]->victim] += (*losses)[i].s;
  for (size_t j = 0; j < jobs_.size(); ++j) {
    const auto useful_ns = static_cast<double>(iterations[j]) * static_cast<double>(jobs_[j]->solo.iteration_ns);
    const double lost_s = std::max(0.0, (static_cast<double>(skipped.ns()) - useful_ns) * 1e-9);
    double& scale = scales[jobs_[j]->id];
    scale = scale > 0 ? lost_s / scale : 0;
  }
  for (size_t i = 0; i < losses->size(); ++i) (*losses)[i] = scales[keys[i]->victim] * (*losses)[i];
}

// The iteration under way is another one, that began as much later.
void ContentionDomain::MoveClockOf(JobState& job, SimDuration skipped) const {
  job.iteration_start = job.iteration_start + skipped;
  job.last_iteration_start = job.last_iteration_start + skipped;
  job.phase_start = job.phase_start + skipped;
  if (job.stalled_since < SimTime::Never()) job.stalled_since = job.stalled_since + skipped;
}

}  // namespace fairlead::sim
