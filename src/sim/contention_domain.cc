#include "sim/contention_domain.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "sim/congestion_loss.h"
#include "sim/queue_pair_shares.h"
#include "sim/run_recording.h"

namespace fairlead::sim {

ContentionDomain::ContentionDomain(std::vector<JobState*> jobs,
                                   const std::vector<const std::vector<TransferRoute>*>& routes,
                                   const LinkSharing& sharing, const IdVector<LinkId, double>& capacities,
                                   SimTime start, const DomainOptions& options, BinnedSum* busy)
    : jobs_(std::move(jobs)),
      time_{.local_ns = 0, .offset_ns = start.ns()},
      network_(ComputeNetworkLayout(jobs_, routes, sharing, capacities, options.healthy_capacities,
                                    options.aggregates && options.congestion == nullptr),
               ComputeLocalLevels(jobs_), options.congestion),
      recorder_(jobs_, time_, &network_, routes, options.recorder),
      clocks_(jobs_, time_, busy, &recorder_),
      delays_(jobs_, time_, &network_, clocks_, &recorder_,
              options.follows_delays ? options.healthy_capacities : nullptr),
      bounds_(jobs_, time_, network_) {
  FL_CHECK(!options.follows_delays || options.healthy_capacities != nullptr);
  if (MltcpWeights::AreWanted(jobs_)) weights_.emplace(jobs_, time_, &network_);
  if (CoflowPacer::IsWanted(jobs_)) pacer_.emplace(jobs_, &network_);
  if (FlowletChooser::IsWanted(jobs_)) chooser_.emplace(jobs_, time_, &network_, capacities, options.carried);
  // Where a flow goes depends on the moment: nothing repeats.
  if (options.fast_forward && !chooser_) {
    fast_forward_.emplace(jobs_, &time_, &network_, &clocks_, &delays_, bounds_, options.extrapolate);
  }
  Resume();
}

void ContentionDomain::Resume() {
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    FL_CHECK(!jobs_[j]->is_finished);
    if (jobs_[j]->is_phase_running) ResumePhase(j);
    if (clocks_.has_begun(j) || clocks_.IsDue(j)) StepJob(j);
  }
  SettleSenders();
}

// All that happens at this instant has happened: senders look at what they have to send.
void ContentionDomain::SettleSenders() {
  if (chooser_) chooser_->Renew();
  if (weights_) weights_->Renew();
  if (pacer_) pacer_->Renew();
  if (network_.congestion() != nullptr) network_.congestion()->Update(time_.local_ns);
}

void ContentionDomain::ResumePhase(uint32_t j) {
  const JobState& job = *jobs_[j];
  if (job.arrives_at < SimTime::Never()) return;
  for (const FluidVariable& variable : network_.VariablesOf(j, job.phase)) {
    // Those that are through have nothing left and end at once.
    network_.Start(variable, std::max(0.0, job.remaining[variable.transfers.front()]));
  }
  FL_CHECK(network_.num_sending(j) > 0);
}

void ContentionDomain::Suspend() {
  network_.SettleQueues(time_.local_ns);
  recorder_.EndLoads();
  for (uint32_t j = 0; j < jobs_.size(); ++j) WriteBack(j);
}

void ContentionDomain::WriteBack(uint32_t j) {
  clocks_.Sync(j);
  JobState& job = *jobs_[j];
  if (job.is_phase_running) delays_.RecordView(j);
  job.observed_until = now();
  if (network_.congestion() != nullptr) job.congestion.Add(network_.congestion()->totals().jobs[j]);
  if (!job.is_phase_running) return;
  for (const FluidVariable& variable : network_.VariablesOf(j, job.phase)) {
    const double left = network_.Left(variable) / variable.width;
    for (const uint32_t t : variable.transfers) job.remaining[t] = left;
  }
}

void ContentionDomain::AdvanceTo(SimTime limit, RunWatch& watch) {
  const JobState& slowest = *jobs_[bounds_.slowest_job()];
  while (!has_finished_job_ && !watch.ShouldStop(now())) {
    const int64_t next_ns = NextEventNs();
    const int64_t limit_ns = time_.Local(limit);
    recorder_.RecordRatesUntil(std::min(next_ns, limit_ns));
    delays_.FollowUntil(std::min(next_ns, limit_ns));
    if (next_ns > limit_ns) {
      FL_CHECK(network_.AdvanceTo(limit_ns).empty());
      time_.local_ns = limit_ns;
      return;
    }
    const uint64_t iterations_before = slowest.iterations_done;
    ApplyEventsAt(next_ns);
    if (!fast_forward_ || has_finished_job_ || slowest.iterations_done == iterations_before) continue;
    fast_forward_->Try(recorder_.JumpLimitNs(limit_ns));
  }
}

void ContentionDomain::ApplyEventsAt(int64_t local_ns) {
  const std::span<const fluid::FlowId> ended = network_.AdvanceTo(local_ns);
  time_.local_ns = local_ns;
  due_.clear();
  for (const fluid::FlowId flow : ended) {
    const FluidVariable& variable = network_.variable(flow.index());
    const uint32_t j = variable.job;
    if (jobs_[j]->shares != nullptr) RecordParts(variable);
    if (chooser_) chooser_->EndSending(variable);
    if (!network_.TakeEnd(variable)) continue;
    EndSending(j);
    due_.push_back(j);
  }
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    if (clocks_.IsDue(j)) due_.push_back(j);
  }
  std::sort(due_.begin(), due_.end());
  due_.erase(std::unique(due_.begin(), due_.end()), due_.end());
  for (const uint32_t j : due_) StepJob(j);
  SettleSenders();
}

// A message's part has ended on each of the variable's transfers.
void ContentionDomain::RecordParts(const FluidVariable& variable) {
  JobState& job = *jobs_[variable.job];
  for (const uint32_t t : variable.transfers) {
    job.shares->RecordPart(t, job.part_bytes[t], now() - job.phase_start, now());
  }
}

// Whatever the job begins or ends at this instant.
void ContentionDomain::StepJob(uint32_t j) {
  JobState& job = *jobs_[j];
  delays_.ForgetView(j);
  if (!clocks_.has_begun(j)) {
    if (clocks_.WaitForShift(j)) return;
    delays_.EndWait(j);
    clocks_.Begin(j);
  }
  clocks_.Sync(j);
  if (job.arrives_at <= now()) EndPhase(j);
  const size_t num_phases = job.clock.start_ns.size();
  while (!job.is_phase_running) {
    if (job.phase < num_phases) {
      if (job.progress_ns < job.clock.start_ns[job.phase]) break;
      StartPhase(j);
    } else {
      if (job.progress_ns < job.clock.total_ns) break;
      EndIteration(j);
      if (job.is_finished || clocks_.WaitForShift(j)) return;
    }
  }
  clocks_.SetTimer(j);
}

void ContentionDomain::StartPhase(uint32_t j) {
  delays_.BeginPhase(j);
  if (chooser_) chooser_->BeginPhase(j);
  JobState& job = *jobs_[j];
  job.is_phase_running = true;
  job.phase_start = now();
  job.activity_since = job.phase_start;
  job.activity_counted = 0;
  for (const FluidVariable& variable : network_.VariablesOf(j, job.phase)) {
    if (chooser_) chooser_->BeginSending(variable);
    network_.Start(variable, variable.bytes);
    if (job.shares == nullptr) continue;
    for (const uint32_t t : variable.transfers) job.part_bytes[t] = variable.bytes;
  }
  if (network_.num_sending(j) == 0) EndSending(j);
}

// The bytes of the phase that runs have left; the last of them are still on their way.
void ContentionDomain::EndSending(uint32_t j) {
  JobState& job = *jobs_[j];
  const int64_t wait_ns = job.clock.latency_ns[job.phase] + job.ReorderNs();
  if (wait_ns == 0) return EndPhase(j);
  for (const FluidVariable& variable : network_.VariablesOf(j, job.phase)) {
    for (const uint32_t t : variable.transfers) job.remaining[t] = 0;
  }
  delays_.EndSending(j);
  job.arrives_at = now() + SimDuration(wait_ns);
}

void ContentionDomain::EndPhase(uint32_t j) {
  clocks_.Sync(j);
  JobState& job = *jobs_[j];
  BinnedSum::Spread(job.activity_since, now(), static_cast<float>(1 - job.activity_counted), job.activity[job.phase],
                    clocks_.bin_ns());
  ++job.phase_runs[job.phase];
  job.phase_took_ns[job.phase] = (now() - job.phase_start).ns();
  recorder_.RecordActivity(j, Activity::kPhase, job.phase_start);
  job.is_phase_running = false;
  job.arrives_at = SimTime::Never();
  ++job.phase;
  delays_.EndPhase(j);
}

void ContentionDomain::EndIteration(uint32_t j) {
  JobState& job = *jobs_[j];
  FL_CHECK_MSG(now() > job.iteration_start, "an iteration must take time");
  recorder_.RecordActivity(j, Activity::kIteration, job.iteration_start);
  ++job.iterations_done;
  job.event_hash = CombineHash(job.event_hash, static_cast<uint64_t>(now().ns()));
  bounds_.EndIteration(j);
  if (fast_forward_) fast_forward_->RecordIteration(j);
  job.shift_progress.CountIteration();
  job.last_iteration_end = now();
  job.last_iteration_start = job.iteration_start;
  job.iteration_start = now();
  job.progress_ns = 0;
  job.phase = 0;
  if (job.num_iterations == 0 || job.iterations_done < job.num_iterations) return;
  job.is_finished = true;
  job.finish_time = now();
  has_finished_job_ = true;
  clocks_.Stop(j);
}

}  // namespace fairlead::sim
