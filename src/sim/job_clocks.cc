#include "sim/job_clocks.h"

#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "sim/run_recording.h"

namespace fairlead::sim {

namespace {

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

JobClocks::JobClocks(std::span<JobState* const> jobs, const DomainTime& time, BinnedSum* busy, DomainRecorder* recorder)
    : jobs_(jobs), time_(&time), busy_(busy), recorder_(recorder), clocks_(jobs.size()) {
  for (size_t j = 0; j < jobs_.size(); ++j) {
    const JobState& job = *jobs_[j];
    Clock& clock = clocks_[j];
    clock.has_begun = job.iteration_start < time_->now() || job.is_phase_running || job.progress_ns > 0;
    if (!clock.has_begun) clock.timer_ns = time_->Local(job.iteration_start);
  }
}

bool JobClocks::WaitForShift(uint32_t j) {
  JobState& job = *jobs_[j];
  if (!job.time_shift) return false;
  const bool has_waited = std::exchange(job.waits_for_shift, false);
  if (!has_waited) {
    const SimTime now = time_->now();
    const SimDuration wait = WaitOfStart(*job.time_shift, job.shift_progress, job.last_iteration_start, now);
    if (wait.ns() > 0) {
      if (job.shift_progress.is_aligned) job.shift_progress.iterations = 0;
      Clock& clock = clocks_[j];
      clock.has_begun = false;
      clock.is_computing = false;
      clock.timer_ns = time_->local_ns + wait.ns();
      job.iteration_start = now + wait;
      job.waits_for_shift = true;
      return true;
    }
  }
  job.shift_progress.is_aligned = true;
  return false;
}

void JobClocks::AddProgress(uint32_t j) {
  Clock& clock = clocks_[j];
  JobState& job = *jobs_[j];
  const int64_t elapsed = time_->local_ns - clock.computing_since_ns;
  job.progress_ns += elapsed;
  FL_DCHECK(job.progress_ns <= job.clock.total_ns);
  const SimTime from = time_->At(clock.computing_since_ns);
  busy_->Add(from, time_->now(), static_cast<double>(elapsed) * 1e-9 * job.clock.busy_fraction * job.num_gpus);
  recorder_->RecordActivity(j, Activity::kCompute, from);
  clock.computing_since_ns = time_->local_ns;
}

void JobClocks::SetTimer(uint32_t j) {
  const JobState& job = *jobs_[j];
  Clock& clock = clocks_[j];
  const size_t num_phases = job.clock.start_ns.size();
  // The compute clock may run up to the first blocking phase that is not over.
  int64_t compute_limit = job.clock.total_ns;
  for (size_t p = job.phase; p < num_phases; ++p) {
    if (!job.clock.blocks[p]) continue;
    compute_limit = job.clock.start_ns[p];
    break;
  }
  clock.is_computing = job.progress_ns < compute_limit;
  clock.computing_since_ns = time_->local_ns;
  clock.timer_ns = job.arrives_at < SimTime::Never() ? time_->Local(job.arrives_at) : kNeverNs;
  if (!clock.is_computing) return;
  int64_t target = compute_limit;
  if (!job.is_phase_running && job.phase < num_phases) target = std::min(target, job.clock.start_ns[job.phase]);
  clock.timer_ns = std::min(clock.timer_ns, time_->local_ns + (target - job.progress_ns));
}

void JobClocks::Jump(uint32_t j, const JobJump& jump) {
  Sync(j);
  JobState& job = *jobs_[j];
  const SimTime from = time_->now();
  const SimTime to = from + jump.skipped;
  job.iterations_done += jump.iterations;
  for (size_t p = 0; p < job.phase_runs.size(); ++p) {
    job.phase_runs[p] += jump.phase_runs[p];
    BinnedSum::Spread(from, to, static_cast<float>(jump.phase_runs[p]), job.activity[p], busy_->bin_ns());
  }
  busy_->Add(from, to,
             static_cast<double>(jump.iterations) * static_cast<double>(job.clock.total_ns) * 1e-9 *
                 job.clock.busy_fraction * job.num_gpus);
  job.activity_since = job.activity_since + jump.skipped;
  if (jump.iterations > 0) job.last_iteration_end = job.last_iteration_end + jump.skipped;
  job.jumped_ns += jump.skipped.ns();
  job.jump_error = std::max(job.jump_error, jump.error_ns / static_cast<double>(jump.skipped.ns()));
  job.event_hash = CombineHash(job.event_hash, static_cast<uint64_t>(to.ns()) ^ jump.iterations);
}

void JobClocks::AppendState(uint32_t j, DomainSnapshot* snapshot) const {
  const JobState& job = *jobs_[j];
  const Clock& clock = clocks_[j];
  const bool is_arriving = job.arrives_at < SimTime::Never();
  snapshot->discrete.push_back(job.phase * 8u + is_arriving * 4u + job.is_phase_running * 2u + clock.is_computing);
  int64_t progress = job.progress_ns;
  if (clock.is_computing) progress += time_->local_ns - clock.computing_since_ns;
  if (!clock.has_begun) progress = time_->local_ns - clock.timer_ns;  // still to come: negative, never repeats
  snapshot->progress_ns.push_back(progress);
  if (is_arriving) snapshot->progress_ns.push_back((job.arrives_at - time_->now()).ns());
  if (job.time_shift) AppendShiftState(job, time_->now(), snapshot);
}

}  // namespace fairlead::sim
