// What holds up the jobs of a domain: fills their accounts of delay (delay_account.h).
#include <algorithm>
#include <limits>
#include <utility>

#include "sim/contention_domain.h"

namespace fairlead::sim {

namespace {

// Below this share of its rate alone a transfer counts as standing still: rounding may leave a starved one a trickle.
constexpr double kStandsStill = 1e-6;
// A transfer this near to its rate alone lacks nothing.
constexpr double kRounding = 1e-9;
// Where a link would suffice for the rates of the yardstick and nobody else is on it, the job's own transfers share it
// unequally for a while. That counts where nothing else is seen to hold up the phase.
constexpr double kLastResort = 1e-9;
// Up to so many transfers of a job are looked at for each event, more at most so often in the time of a phase alone.
constexpr uint32_t kFewTransfers = 32;
constexpr int64_t kLooksPerPhase = 256;

}  // namespace

// The state is constant up to the next event. Of a job with many transfers the intervals between looks are longer: what
// is seen then stands for the time since the look before.
void ContentionDomain::FollowDelaysUntil(int64_t local_ns) {
  if (!options_.follows_delays || local_ns <= local_now_ns_) return;
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    const JobState& job = *jobs_[j];
    if (!job.is_phase_running) continue;
    Runtime& runtime = runtimes_[j];
    const int64_t since_ns = local_ns - runtime.followed_until_ns;
    if (runtime.num_active > kFewTransfers && since_ns < job.solo.phase_ns[job.phase] / kLooksPerPhase) continue;
    runtime.followed_until_ns = local_ns;
    FollowDelayOf(j, static_cast<double>(since_ns) * 1e-9);
  }
}

void ContentionDomain::FollowDelayOf(uint32_t j, double weight_s) {
  const Variable* slowest = FindSlowest(j);
  if (slowest == nullptr) return;
  JobState& job = *jobs_[j];
  const uint32_t local_link = network_->BottleneckLink(slowest->flow);
  const bool is_contended = local_link < links_.size() && links_[local_link].valid();
  delays_.bounds.Add({job.id, is_contended ? links_[local_link] : slowest->tightest}, weight_s);

  const double kept = network_->Rate(slowest->flow) / SoloRate(*slowest);
  if (kept > kStandsStill || runtimes_[j].is_computing) {
    job.standing_since = SimTime::Never();
  } else if (job.standing_since == SimTime::Never()) {
    job.standing_since = now();
  }
  if (kept > 1 - kRounding) {
    // Shares that have changed since the phase began may leave a queue pair with more than it will have.
    if (job.shares != nullptr) {
      job.AddDelayShare(LossCause::kSelf, JobId(), slowest->tightest, weight_s * kLastResort * kLastResort);
    }
    return;
  }
  const double delay_s = weight_s * (1 - kept);
  if (is_contended) {
    ShareDelay(j, *slowest, local_link, delay_s);
  } else {
    ShareOwnDelay(j, *slowest, delay_s);
  }
}

// Bytes/s that end the variable just in time for its phase to take as long as alone.
double ContentionDomain::SoloRate(const Variable& variable) const {
  const auto phase_ns = static_cast<double>(jobs_[variable.job]->solo.phase_ns[variable.phase]);
  return variable.bytes * static_cast<double>(variable.transfers.size()) / (std::max(1.0, phase_ns) * 1e-9);
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

// The link is full. Those who have it answer for the delay by their loads, the job itself with what its flows would ask
// beyond the whole link, a broken link with what it lacks.
void ContentionDomain::ShareDelay(uint32_t j, const Variable& slowest, uint32_t local_link, double delay_s) {
  JobState& victim = *jobs_[j];
  const LinkId link = links_[local_link];
  const double healthy = (*options_.healthy_capacities)[link];
  const auto load_of = [&](const LinkUser& user) {
    return network_->Rate(variables_[user.variable].flow) * user.multiplicity;
  };
  double own_wish = 0;
  double load_of_others = 0;
  for (const LinkUser& user : link_users_[local_link]) {
    const Variable& other = variables_[user.variable];
    if (other.job != j) {
      if (jobs_[other.job]->level <= victim.level) load_of_others += load_of(user);
    } else if (other.phase == slowest.phase && network_->active(other.flow)) {
      own_wish += SoloRate(other) * user.multiplicity;
    }
  }
  const double own_excess = std::max(0.0, own_wish - healthy);
  const double lacking = std::max(0.0, healthy - link_capacities_[local_link]);
  const double all = own_excess + lacking + load_of_others;
  if (all <= 0) victim.AddDelayShare(LossCause::kSelf, JobId(), link, delay_s * kLastResort);
  if (own_excess > 0) victim.AddDelayShare(LossCause::kSelf, JobId(), link, delay_s * own_excess / all);
  if (lacking > 0) victim.AddDelayShare(LossCause::kCapacity, JobId(), link, delay_s * lacking / all);
  for (const LinkUser& user : link_users_[local_link]) {
    const Variable& other = variables_[user.variable];
    const JobState& culprit = *jobs_[other.job];
    if (other.job == j || culprit.level > victim.level) continue;
    const double load = load_of(user);
    if (load <= 0) continue;
    const LossCause cause = culprit.watch != nullptr       ? LossCause::kProfiling
                            : culprit.level < victim.level ? LossCause::kLevel
                                                           : LossCause::kJob;
    victim.AddDelayShare(cause, culprit.id, link, delay_s * load / all);
  }
}

// Nobody else can slow the transfer down: its own paths are longer or meet, or a link of them is broken.
void ContentionDomain::ShareOwnDelay(uint32_t j, const Variable& slowest, double delay_s) {
  JobState& victim = *jobs_[j];
  const double wish = SoloRate(slowest) / static_cast<double>(slowest.transfers.size());
  const bool is_cut = !slowest.tightest.valid() || slowest.tightest_health <= 0;
  const double healthy = is_cut ? wish : slowest.top_rate / slowest.tightest_health;
  const double own_excess = std::max(0.0, wish - healthy);
  const double lacking = std::max(0.0, std::min(wish, healthy) - slowest.top_rate);
  const double all = own_excess + lacking;
  const LinkId link = slowest.tightest;
  if (all <= 0) victim.AddDelayShare(LossCause::kSelf, JobId(), link, delay_s * kLastResort);
  if (own_excess > 0) victim.AddDelayShare(LossCause::kSelf, JobId(), link, delay_s * own_excess / all);
  if (lacking > 0) victim.AddDelayShare(LossCause::kCapacity, JobId(), link, delay_s * lacking / all);
}

// The phase before has just ended.
void ContentionDomain::BookPhase(uint32_t j) {
  JobState& job = *jobs_[j];
  delays_.BookPhase(job, static_cast<double>(job.PhaseLossNs(now())) * 1e-9);
}

// The job begins an iteration now.
void ContentionDomain::BookWaitForShift(uint32_t j) {
  if (!options_.follows_delays) return;
  JobState& job = *jobs_[j];
  // A domain that is built anew at this very instant begins the iteration again.
  const SimTime from = std::max(job.last_iteration_end, std::exchange(job.waits_booked_until, now()));
  delays_.Book(job, LossCause::kShift, (now() - from).seconds().value());
}

}  // namespace fairlead::sim
