#include "sim/fast_forward.h"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/congestion_loss.h"

namespace fairlead::sim {

namespace {

// The phase under way is the same one, and was held up in the same way in each period that is skipped.
void LengthenDelays(JobState& job, const std::vector<double>& then, double num_periods) {
  for (size_t i = 0; i < job.delay_shares.size(); ++i) {
    double& weight_s = job.delay_shares[i].weight_s;
    weight_s += num_periods * (weight_s - (i < then.size() ? then[i] : 0));
  }
}

// The iteration under way is another one, that began as much later.
void PostponeIteration(JobState& job, SimDuration skipped) {
  job.iteration_start = job.iteration_start + skipped;
  job.last_iteration_start = job.last_iteration_start + skipped;
  job.phase_start = job.phase_start + skipped;
  if (job.arrives_at < SimTime::Never()) job.arrives_at = job.arrives_at + skipped;
  if (job.stalled_since < SimTime::Never()) job.stalled_since = job.stalled_since + skipped;
}

}  // namespace

FastForward::FastForward(std::span<JobState* const> jobs, DomainTime* time, DomainNetwork* network, JobClocks* clocks,
                         DomainDelays* delays, const FinishBounds& bounds, bool extrapolates)
    : jobs_(jobs),
      time_(time),
      network_(network),
      clocks_(clocks),
      delays_(delays),
      bounds_(&bounds),
      extrapolates_(extrapolates),
      start_(time->now()),
      rate_window_(jobs.size(), time->local_ns) {}

void FastForward::Try(int64_t limit_ns) {
  if (limit_ns <= time_->local_ns) return;
  if (network_->congestion() != nullptr) network_->congestion()->CountUntil(time_->local_ns);
  delays_->RecordViews();
  if (TryPeriods(limit_ns)) return;
  if (extrapolates_) TryMeanSpeeds(limit_ns);
}

// True when the domain repeats itself, whether or not a period fits.
bool FastForward::TryPeriods(int64_t limit_ns) {
  if (settled_rates_) return false;
  const auto period = detector_.Observe(TakeSnapshot());
  counters_.push_back(ReadCounters(jobs_, delays_->account(), network_->congestion()));
  if (counters_.size() > PeriodDetector::kMaxLag + 1) counters_.pop_front();
  if (!period) return false;
  const DomainCounters& then = counters_[counters_.size() - 1 - period->lag];
  const int64_t num_periods = PeriodsThatFit(*period, then, limit_ns);
  if (num_periods >= 1) JumpPeriods(*period, then, num_periods);
  return true;
}

DomainSnapshot FastForward::TakeSnapshot() const {
  DomainSnapshot snapshot;
  snapshot.local_ns = time_->local_ns;
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    clocks_->AppendState(j, &snapshot);
    if (!jobs_[j]->is_phase_running) continue;
    for (const FluidVariable& variable : network_->VariablesOf(j, jobs_[j]->phase)) {
      const double top = variable.top_rate * variable.width;
      snapshot.left_ns.push_back(top > 0 ? network_->Left(variable) / top * 1e9 : 0);
    }
  }
  return snapshot;
}

int64_t FastForward::PeriodsThatFit(const Period& period, const DomainCounters& then, int64_t limit_ns) const {
  int64_t fit = (limit_ns - time_->local_ns) / period.length_ns;
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    const JobState& job = *jobs_[j];
    const uint64_t per_period = job.iterations_done - then.iterations[j];
    if (job.num_iterations == 0 || per_period == 0) continue;
    // The last iteration is always simulated, so that the end comes out exactly.
    const uint64_t left = job.num_iterations - job.iterations_done - 1;
    fit = std::min<int64_t>(fit, static_cast<int64_t>(left / per_period));
    // A state that only converges may repeat itself a little sooner than the least iterations allow.
    const double too_early_ns = static_cast<double>(per_period) * static_cast<double>(bounds_->LeastIterationNs(j)) -
                                static_cast<double>(period.length_ns);
    if (too_early_ns <= 0) continue;
    fit = std::min(fit, static_cast<int64_t>(static_cast<double>(bounds_->SlackNs(j)) / too_early_ns));
  }
  return fit;
}

void FastForward::JumpPeriods(const Period& period, const DomainCounters& then, int64_t num_periods) {
  const SimDuration skipped(num_periods * period.length_ns);
  DomainCounters more = counters_.back().ChangeSince(then, static_cast<uint64_t>(num_periods));
  ScaleLosses(more.iterations, skipped, &more.losses);
  auto phase_runs_more = std::span<const uint64_t>(more.phase_runs);
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    const size_t num_phases = jobs_[j]->phase_runs.size();
    if (more.iterations[j] > 0) {
      PostponeIteration(*jobs_[j], skipped);
    } else {
      LengthenDelays(*jobs_[j], then.delay_shares[j], static_cast<double>(num_periods));
    }
    clocks_->Jump(j, {.iterations = more.iterations[j],
                      .phase_runs = phase_runs_more.first(num_phases),
                      .skipped = skipped,
                      // Each of the periods may be off by as much.
                      .error_ns = period.error_ns * static_cast<double>(num_periods)});
    phase_runs_more = phase_runs_more.subspan(num_phases);
  }
  DelayAccount& account = delays_->account();
  for (size_t i = 0; i < more.losses.size(); ++i) account.losses.values()[i] += more.losses[i];
  for (size_t i = 0; i < more.bounds.size(); ++i) account.bounds.values()[i] += more.bounds[i];
  if (more.congestion) network_->congestion()->totals().Add(*more.congestion);
  // Earlier counters move along, so that differences to them still count the periods that were simulated.
  for (DomainCounters& counters : counters_) counters.Add(more);
  time_->offset_ns += skipped.ns();
}

// A period that only converges does not end quite where it began: its losses become those of the time that is skipped.
void FastForward::ScaleLosses(std::span<const uint64_t> iterations, SimDuration skipped,
                              std::vector<LostTime>* losses) const {
  const std::vector<const LossKey*> keys = delays_->account().losses.KeysByPlace();
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

void FastForward::TryMeanSpeeds(int64_t limit_ns) {
  if (!settled_rates_) settled_rates_ = rate_window_.Look(time_->local_ns);
  if (!settled_rates_) return;
  const int64_t length_ns = LengthToExtrapolate(limit_ns);
  // Not worth it, and the end of the stretch is simulated anyway.
  if (length_ns < bounds_->LeastIterationNs(bounds_->slowest_job())) return;
  // Relative to the totals: simulated, and skipped before.
  const double more_of_all = static_cast<double>(length_ns) / static_cast<double>((time_->now() - start_).ns());
  if (network_->congestion() != nullptr) {
    CongestionCounts& totals = network_->congestion()->totals();
    totals.Add(CongestionCounts(totals), more_of_all);
  }
  for (double& bound_s : delays_->account().bounds.values()) bound_s *= 1 + more_of_all;
  for (uint32_t j = 0; j < jobs_.size(); ++j) Extrapolate(j, length_ns);
  time_->offset_ns += length_ns;
}

// Up to the limit, but the last two iterations of a job are simulated.
int64_t FastForward::LengthToExtrapolate(int64_t limit_ns) const {
  auto length_ns = static_cast<double>(limit_ns - time_->local_ns);
  for (size_t j = 0; j < jobs_.size(); ++j) {
    const JobState& job = *jobs_[j];
    if (job.num_iterations == 0) continue;
    const double left = static_cast<double>(job.num_iterations - job.iterations_done) - 3;
    length_ns = std::min(length_ns, left / settled_rates_->iterations_per_ns[j]);
  }
  return static_cast<int64_t>(std::max(0.0, length_ns));
}

void FastForward::Extrapolate(uint32_t j, int64_t length_ns) {
  JobState& job = *jobs_[j];
  const double completed = settled_rates_->iterations_per_ns[j] * static_cast<double>(length_ns);
  const double more = completed + job.iteration_carry;
  const uint64_t whole = WholeIterations(j, more, length_ns);
  job.iteration_carry = more - static_cast<double>(whole);
  const double useful_ns = completed * static_cast<double>(job.solo.iteration_ns);
  delays_->AttributeMore(j, (static_cast<double>(length_ns) - useful_ns) * 1e-9);
  PostponeIteration(job, SimDuration(length_ns));
  const std::vector<uint64_t> phase_runs(job.phase_runs.size(), whole);
  clocks_->Jump(j, {.iterations = whole,
                    .phase_runs = phase_runs,
                    .skipped = SimDuration(length_ns),
                    .error_ns = settled_rates_->spread * static_cast<double>(length_ns)});
}

// Of the `owed` iterations, those that job j may be given at once, in `length_ns`. Time owed by earlier stretches would
// otherwise make it finish before a promise, up to which others have been simulated.
uint64_t FastForward::WholeIterations(uint32_t j, double owed, int64_t length_ns) const {
  const JobState& job = *jobs_[j];
  const auto whole = static_cast<uint64_t>(owed);
  if (job.num_iterations == 0) return whole;
  const int64_t fit = (length_ns + bounds_->SlackNs(j)) / bounds_->LeastIterationNs(j);
  return std::min({whole, static_cast<uint64_t>(fit), job.num_iterations - job.iterations_done - 1});
}

}  // namespace fairlead::sim
