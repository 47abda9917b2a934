// Contention accounts of a domain: at sample instants, whom does each communicating job wait for, and where?
#include <algorithm>
#include <limits>

#include "sim/contention_domain.h"

namespace fairlead::sim {

// The state is constant up to the next event, so all samples before it see the same.
void ContentionDomain::SampleUntil(int64_t local_ns) {
  if (sample_step_ns_ == 0 || next_sample_ns_ > local_ns) return;
  const int64_t count = (local_ns - next_sample_ns_) / sample_step_ns_ + 1;
  next_sample_ns_ += count * sample_step_ns_;
  const double weight_s = static_cast<double>(count * sample_step_ns_) * 1e-9;
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    if (jobs_[j]->is_phase_running) SampleJob(j, weight_s);
  }
}

void ContentionDomain::SampleJob(uint32_t j, double weight_s) {
  const Variable* slowest = FindSlowest(j);
  if (slowest == nullptr) return;
  const JobId victim = jobs_[j]->id;
  const uint32_t local_link = network_->BottleneckLink(slowest->flow);
  if (local_link >= links_.size() || !links_[local_link].valid()) {
    contention_.Add({victim, JobId(), slowest->tightest}, {.shared_s = weight_s});
    return;
  }
  const double alone = slowest->top_rate * static_cast<double>(slowest->transfers.size());
  const double kept = alone > 0 ? network_->Rate(slowest->flow) / alone : 0;
  const double lost_s = weight_s * std::max(0.0, 1 - kept);
  contention_.Add({victim, JobId(), links_[local_link]}, {.shared_s = weight_s, .lost_s = lost_s});
  Blame(j, local_link, weight_s, lost_s);
}

// The transfer that ends last at present rates is the one the job waits for. Null when all have ended.
const ContentionDomain::Variable* ContentionDomain::FindSlowest(uint32_t j) {
  const uint32_t phase = jobs_[j]->phase;
  const Variable* slowest = nullptr;
  double longest = -1;
  for (uint32_t v = runtimes_[j].first_variable[phase]; v < runtimes_[j].first_variable[phase + 1]; ++v) {
    const double left = network_->Remaining(variables_[v].flow);
    if (left <= 0) continue;
    const double rate = network_->Rate(variables_[v].flow);
    const double seconds = rate > 0 ? left / rate : std::numeric_limits<double>::infinity();
    if (seconds <= longest) continue;
    longest = seconds;
    slowest = &variables_[v];
  }
  return slowest;
}

// Blame goes by share of the link; where no other job is on it, the job's own transfers are in each other's way.
void ContentionDomain::Blame(uint32_t j, uint32_t local_link, double weight_s, double lost_s) {
  double load_of_others = 0;
  double load_of_all = 0;
  for (const LinkUser& user : link_users_[local_link]) {
    const double load = network_->Rate(variables_[user.variable].flow) * user.multiplicity;
    load_of_all += load;
    if (variables_[user.variable].job != j) load_of_others += load;
  }
  const double blamed_load = load_of_others > 0 ? load_of_others : load_of_all;
  if (blamed_load <= 0) return;
  const JobState& victim = *jobs_[j];
  for (const LinkUser& user : link_users_[local_link]) {
    const Variable& other = variables_[user.variable];
    if (load_of_others > 0 && other.job == j) continue;
    const double load = network_->Rate(other.flow) * user.multiplicity;
    if (load <= 0) continue;
    const JobState& culprit = *jobs_[other.job];
    const double blamed_s = lost_s * load / blamed_load;
    contention_.Add({victim.id, culprit.id, links_[local_link]},
                    {.shared_s = weight_s * load / blamed_load,
                     .lost_s = blamed_s,
                     .yielded_s = victim.level > culprit.level ? blamed_s : 0});
  }
}

}  // namespace fairlead::sim
