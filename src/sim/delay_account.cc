#include "sim/delay_account.h"

#include <algorithm>
#include <utility>

#include "sim/job_state.h"

namespace fairlead::sim {

void DelayAccount::Attribute(const JobState& job, LossCause cause, double lost_s) {
  if (lost_s <= 0) return;
  losses.Add({job.id, cause, JobId(), LinkId()}, {lost_s, lost_s * job.num_gpus});
}

void DelayAccount::RecordPhase(JobState& job, double lost_s) {
  lost_s -= std::exchange(job.gained_s, 0);
  if (lost_s < 0) {
    job.gained_s = -lost_s;
    job.delay_shares.clear();
    return;
  }
  double seen_s = 0;
  for (const DelayShare& share : job.delay_shares) seen_s += share.weight_s;
  if (seen_s <= 0) Attribute(job, LossCause::kNotAttributed, lost_s);
  for (const DelayShare& share : job.delay_shares) {
    const double mine_s = lost_s * share.weight_s / seen_s;
    if (mine_s > 0) losses.Add({job.id, share.cause, share.culprit, share.link}, {mine_s, mine_s * job.num_gpus});
  }
  job.delay_shares.clear();
}

void DelayAccount::AttributeMore(JobState& job, double lost_s) {
  const auto first = losses.index().lower_bound({job.id, LossCause{}, JobId(0), LinkId(0)});
  double before_s = 0;
  for (auto row = first; row != losses.index().end() && row->first.victim == job.id; ++row) {
    before_s += losses.values()[row->second].s;
  }
  if (lost_s < -before_s) job.gained_s += -before_s - lost_s;
  if (before_s <= 0) return Attribute(job, LossCause::kNotAttributed, lost_s);
  for (auto row = first; row != losses.index().end() && row->first.victim == job.id; ++row) {
    const double more_s = std::max(-1.0, lost_s / before_s) * losses.values()[row->second].s;
    losses.values()[row->second] += {more_s, more_s * job.num_gpus};
  }
}

}  // namespace fairlead::sim
