#include "sim/job_account.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace fairlead::sim {

void LowerYardstick(SoloYardstick& yardstick, const model::Iteration& iteration, SimTime now, JobState& job,
                    DelayAccount& delays) {
  const int64_t whole_before_ns = job.solo.iteration_ns;
  const int64_t left_before_ns = job.SoloNsLeft(now);
  const int64_t left_at_start_ns = job.solo_left_at_start_ns;
  if (!yardstick.Lower(iteration, job.paths, &job.solo)) return;
  job.solo_left_at_start_ns = std::numeric_limits<int64_t>::min() / 2;  // a new start of the phase, as it were
  const int64_t left_ns = job.SoloNsLeft(now);
  job.solo_left_at_start_ns = left_at_start_ns + left_ns - left_before_ns;
  const double ended = static_cast<double>(job.iterations_done) + job.iteration_carry;
  const double cheaper_ns = static_cast<double>(whole_before_ns - job.solo.iteration_ns);
  const double open_ns = static_cast<double>((whole_before_ns - left_before_ns) - (job.solo.iteration_ns - left_ns));
  const double more_s = (ended * cheaper_ns + open_ns) * 1e-9;
  // A phase that hides behind compute alone may have been waited for in the open iteration, which then counts for more.
  if (more_s < 0) delays.AttributeMore(job, more_s);
  delays.Attribute(job, LossCause::kSelf, more_s);
}

void CloseAccount(const StretchEnd& stretch, JobState& job, DelayAccount& delays) {
  const SimTime end = job.is_finished ? job.finish_time : job.observed_until;
  if (stretch.restarted_at) {
    const SimTime restarted = std::min(end, job.first_start);
    delays.Attribute(job, LossCause::kRestart, (restarted - *stretch.restarted_at).seconds().value());
  }
  if (end <= job.first_start) return;
  job.open_work = job.Work(end) - static_cast<double>(job.iterations_done);
  if (job.num_iterations > 0) {
    // It has done no more than it had to do, whatever extrapolation still owes it.
    const auto most = static_cast<double>(job.num_iterations - job.iterations_done);
    const double too_much = std::max(0.0, job.open_work - most);
    if (too_much > 0) delays.AttributeMore(job, too_much * static_cast<double>(job.solo.iteration_ns) * 1e-9);
    job.open_work -= too_much;
  }
  for (size_t t = 0; t < job.transfers.size(); ++t) {
    const bool is_waited_for = job.is_phase_running && job.transfers[t].phase == job.phase && job.remaining[t] > 0;
    job.is_cut_off |= is_waited_for && stretch.routes[t].top_rate <= 0;
  }
  if (job.is_phase_running) {
    delays.RecordPhase(job, static_cast<double>(job.PhaseLossNs(end)) * 1e-9);
  } else if (job.iteration_start > end) {
    delays.Attribute(job, LossCause::kShift,
                     (end - std::max(job.last_iteration_end, job.waits_recorded_until)).seconds().value());
  }
  const double gained_s = std::exchange(job.gained_s, 0);
  if (gained_s > 0) delays.AttributeMore(job, -gained_s);
  if (stretch.last == LastIteration::kCounts) return;
  double lost_iterations = job.open_work;
  if (stretch.last == LastIteration::kWasTransfer) {
    lost_iterations += static_cast<double>(std::exchange(job.iterations_done, 0));
  }
  const double lost_ns = lost_iterations * static_cast<double>(job.solo.iteration_ns);
  delays.Attribute(job, LossCause::kRestart, lost_ns * 1e-9);
  job.open_work = 0;
}

}  // namespace fairlead::sim
