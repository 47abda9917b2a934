// What holds up the jobs of a domain: fills their accounts of delay (delay_account.h).
#include <algorithm>
#include <limits>
#include <utility>

#include "sim/contention_domain.h"

namespace fairlead::sim {

namespace {

// Below this share of its rate alone a transfer counts as stalled: rounding may leave a starved one a trickle.
constexpr double kStalledShare = 1e-6;
// A transfer this near to its rate alone lacks nothing.
constexpr double kRounding = 1e-9;
// Transfers that end within this part of their time of each other end together; the first of them represents all.
constexpr double kTie = 1e-6;
// Where a link would suffice for the rates of the yardstick and no other job is on it, the job's own transfers share it
// unequally for a while. That counts where nothing else is seen to hold up the phase.
constexpr double kLastResort = 1e-9;
// Up to so many transfers of a job are looked at after each change, more at most so often in the time of a phase alone.
constexpr uint32_t kFewTransfers = 32;
constexpr int64_t kLooksPerPhase = 256;

uint64_t WatcherOf(uint32_t j) { return uint64_t{1} << (j % 64); }

}  // namespace

// A job's view of its delay stays true until a rate changes on a link that it uses, or the job itself proceeds. Of more
// than 64 jobs some share a bit, and are looked at more often than they need.
void ContentionDomain::WatchLinks() {
  for (uint32_t link = 0; link < link_users_.size(); ++link) {
    uint64_t watchers = 0;
    for (const LinkUser& user : link_users_[link]) watchers |= WatcherOf(variables_[user.variable].job);
    network_->SetWatchers(link, watchers);
  }
}

// Rates are constant from local_now_ns_ to `local_ns`. A job with many transfers is examined less often: the last
// result holds until the next time.
void ContentionDomain::FollowDelaysUntil(int64_t local_ns) {
  if (!options_.follows_delays || local_ns <= local_now_ns_) return;
  const uint64_t changed = network_->TakeChanged();
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    const JobState& job = *jobs_[j];
    if (!job.is_phase_running) continue;
    Runtime& runtime = runtimes_[j];
    DelayView& delay = runtime.delay;
    if ((changed & WatcherOf(j)) != 0) delay.is_stale = true;
    if (!delay.is_stale) continue;
    if (delay.seen_at_ns && runtime.num_active > kFewTransfers &&
        local_now_ns_ - *delay.seen_at_ns < job.solo.phase_ns[job.phase] / kLooksPerPhase) {
      continue;
    }
    RecordView(j);
    LookAtDelayOf(j);
  }
}

// What is in view has held since it was booked last.
void ContentionDomain::RecordView(uint32_t j) {
  DelayView& delay = runtimes_[j].delay;
  const int64_t from_ns = std::exchange(delay.recorded_until_ns, local_now_ns_);
  const double weight_s = static_cast<double>(local_now_ns_ - from_ns) * 1e-9;
  if (weight_s <= 0) return;
  if (options_.recorder != nullptr) RecordHeldUp(j, from_ns);
  if (delay.bound) delays_.bounds.values()[*delay.bound] += weight_s;
  for (const auto& [share, delay_per_s] : delay.shares)
    jobs_[j]->delay_shares[share].weight_s += weight_s * delay_per_s;
}

void ContentionDomain::AttributeViews() {
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    if (jobs_[j]->is_phase_running) RecordView(j);
  }
}

void ContentionDomain::LookAtDelayOf(uint32_t j) {
  DelayView& delay = runtimes_[j].delay;
  delay.is_stale = false;
  delay.seen_at_ns = local_now_ns_;
  delay.bound.reset();
  delay.shares.clear();
  const Variable* slowest = FindSlowest(j);
  if (slowest == nullptr) return;
  JobState& job = *jobs_[j];
  const uint32_t local_link = network_->BottleneckLink(slowest->flow);
  const bool is_contended = local_link < links_.size() && links_[local_link].valid();
  delay.bound = delays_.bounds.Index({job.id, is_contended ? links_[local_link] : slowest->tightest});

  const double kept = network_->Rate(slowest->flow) / SoloRate(*slowest);
  if (kept > kStalledShare || runtimes_[j].is_computing) {
    job.stalled_since = SimTime::Never();
  } else if (job.stalled_since == SimTime::Never()) {
    job.stalled_since = now();
  }
  if (kept > 1 - kRounding) {
    // Shares that have changed since the phase began may leave a queue pair with more than it will have.
    if (job.shares != nullptr) {
      AddShare(j, LossCause::kSelf, JobId(), slowest->tightest, kLastResort * kLastResort);
    }
  } else if (is_contended) {
    ShareDelay(j, *slowest, local_link, 1 - kept);
  } else {
    ShareOwnDelay(j, *slowest, 1 - kept);
  }
}

void ContentionDomain::AddShare(uint32_t j, LossCause cause, JobId culprit, LinkId link, double delay) {
  runtimes_[j].delay.shares.emplace_back(jobs_[j]->DelayShareIndex(cause, culprit, link), delay);
}

// Bytes/s that end the variable just in time for its phase to take as long as alone.
double ContentionDomain::SoloRate(const Variable& variable) const {
  const auto phase_ns = static_cast<double>(jobs_[variable.job]->solo.phase_ns[variable.phase]);
  return variable.bytes * variable.width / (std::max(1.0, phase_ns) * 1e-9);
}

// The transfer that ends last at present rates is the one the job waits for. Null when all have ended.
const ContentionDomain::Variable* ContentionDomain::FindSlowest(uint32_t j) {
  const uint32_t phase = jobs_[j]->phase;
  const Variable* slowest = nullptr;
  double longest = -1;
  for (uint32_t v = runtimes_[j].first_variable[phase]; v < runtimes_[j].first_variable[phase + 1]; ++v) {
    if (!network_->active(variables_[v].flow)) continue;
    const double seconds = network_->SecondsLeft(variables_[v].flow);
    if (seconds <= longest * (1 + kTie)) continue;
    longest = seconds;
    slowest = &variables_[v];
  }
  return slowest;
}

// The link is full. Its users account for the delay by their loads, the job itself with what its flows would need
// beyond the whole link, a broken link with its missing capacity.
void ContentionDomain::ShareDelay(uint32_t j, const Variable& slowest, uint32_t local_link, double delay) {
  const JobState& victim = *jobs_[j];
  const LinkId link = links_[local_link];
  const double healthy = (*options_.healthy_capacities)[link];
  const auto load_of = [&](const LinkUser& user) {
    return network_->Rate(variables_[user.variable].flow) * user.multiplicity;
  };
  double own_demand = 0;
  double load_of_others = 0;
  for (const LinkUser& user : link_users_[local_link]) {
    const Variable& other = variables_[user.variable];
    if (other.job != j) {
      if (jobs_[other.job]->level <= victim.level) load_of_others += load_of(user);
    } else if (other.phase == slowest.phase && network_->active(other.flow)) {
      own_demand += SoloRate(other) * user.multiplicity;
    }
  }
  const double own_excess = std::max(0.0, own_demand - healthy);
  const double lacking = std::max(0.0, healthy - link_capacities_[local_link]);
  const double all = own_excess + lacking + load_of_others;
  if (all <= 0) AddShare(j, LossCause::kSelf, JobId(), link, delay * kLastResort);
  if (own_excess > 0) AddShare(j, LossCause::kSelf, JobId(), link, delay * own_excess / all);
  if (lacking > 0) AddShare(j, LossCause::kCapacity, JobId(), link, delay * lacking / all);
  for (const LinkUser& user : link_users_[local_link]) {
    const Variable& other = variables_[user.variable];
    const JobState& culprit = *jobs_[other.job];
    if (other.job == j || culprit.level > victim.level) continue;
    const double load = load_of(user);
    if (load <= 0) continue;
    const LossCause cause = culprit.watch != nullptr       ? LossCause::kProfiling
                            : culprit.level < victim.level ? LossCause::kLevel
                                                           : LossCause::kJob;
    AddShare(j, cause, culprit.id, link, delay * load / all);
  }
}

// No other job can slow the transfer down: its own paths are longer or meet, or a link of them is broken.
void ContentionDomain::ShareOwnDelay(uint32_t j, const Variable& slowest, double delay) {
  const double demand = SoloRate(slowest) / slowest.width;
  const bool is_cut = !slowest.tightest.valid() || slowest.tightest_health <= 0;
  const double healthy = is_cut ? demand : slowest.top_rate / slowest.tightest_health;
  const double own_excess = std::max(0.0, demand - healthy);
  const double lacking = std::max(0.0, std::min(demand, healthy) - slowest.top_rate);
  const double all = own_excess + lacking;
  const LinkId link = slowest.tightest;
  if (all <= 0) AddShare(j, LossCause::kSelf, JobId(), link, delay * kLastResort);
  if (own_excess > 0) AddShare(j, LossCause::kSelf, JobId(), link, delay * own_excess / all);
  if (lacking > 0) AddShare(j, LossCause::kCapacity, JobId(), link, delay * lacking / all);
}

// The phase before has just ended.
void ContentionDomain::RecordPhase(uint32_t j) {
  JobState& job = *jobs_[j];
  RecordView(j);
  delays_.RecordPhase(job, static_cast<double>(job.PhaseLossNs(now())) * 1e-9);
}

// The job begins an iteration now.
void ContentionDomain::AttributeWaitForShift(uint32_t j) {
  if (!options_.follows_delays) return;
  JobState& job = *jobs_[j];
  // A domain that is rebuilt at this very instant restarts the iteration.
  const SimTime from = std::max(job.last_iteration_end, std::exchange(job.waits_recorded_until, now()));
  delays_.Attribute(job, LossCause::kShift, (now() - from).seconds().value());
}

}  // namespace fairlead::sim
