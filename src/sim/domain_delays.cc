#include "sim/domain_delays.h"

#include <algorithm>

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

// Of more than 64 jobs some share a bit, and are looked at more often than they need.
uint64_t WatcherOf(uint32_t j) { return uint64_t{1} << (j % 64); }

}  // namespace

DomainDelays::DomainDelays(std::span<JobState* const> jobs, const DomainTime& time, DomainNetwork* network,
                           const JobClocks& clocks, DomainRecorder* recorder,
                           const IdVector<LinkId, double>* healthy_capacities)
    : jobs_(jobs),
      time_(&time),
      network_(network),
      clocks_(&clocks),
      recorder_(recorder),
      healthy_capacities_(healthy_capacities),
      views_(jobs.size()) {
  if (is_on()) WatchLinks();
}

void DomainDelays::WatchLinks() {
  for (uint32_t link = 0; link < network_->links().size(); ++link) {
    uint64_t watchers = 0;
    for (const LinkUser& user : network_->links()[link].users) {
      watchers |= WatcherOf(network_->variable(user.variable).job);
    }
    network_->SetWatchers(link, watchers);
  }
}

void DomainDelays::BeginPhase(uint32_t j) {
  if (!Follows(j)) return;
  JobState& job = *jobs_[j];
  job.solo_left_at_start_ns = job.SoloNsLeft(time_->now());
  job.stalled_since = SimTime::Never();
  View& view = views_[j];
  view.is_stale = true;
  view.seen_at_ns.reset();
  view.recorded_until_ns = time_->local_ns;
  view.bound.reset();
  view.shares.clear();
}

void DomainDelays::EndSending(uint32_t j) {
  if (!Follows(j)) return;
  RecordView(j);
  JobState& job = *jobs_[j];
  job.stalled_since = SimTime::Never();
  if (const int64_t reorder_ns = job.ReorderNs(); reorder_ns > 0) {
    const size_t share = job.DelayShareIndex(LossCause::kReordering, JobId(), LinkId());
    job.delay_shares[share].weight_s += static_cast<double>(reorder_ns) * 1e-9;
  }
  View& view = views_[j];
  view.is_stale = false;
  view.bound.reset();
  view.shares.clear();
}

void DomainDelays::EndPhase(uint32_t j) {
  if (!Follows(j)) return;
  JobState& job = *jobs_[j];
  RecordView(j);
  account_.RecordPhase(job, static_cast<double>(job.PhaseLossNs(time_->now())) * 1e-9);
}

void DomainDelays::EndWait(uint32_t j) {
  if (!Follows(j)) return;
  JobState& job = *jobs_[j];
  // A domain that is rebuilt at this very instant restarts the iteration.
  const SimTime from = std::max(job.last_iteration_end, std::exchange(job.waits_recorded_until, time_->now()));
  account_.Attribute(job, LossCause::kShift, (time_->now() - from).seconds().value());
}

void DomainDelays::RenewViews() {
  const uint64_t changed = network_->TakeChanged();
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    const JobState& job = *jobs_[j];
    if (!job.is_phase_running || job.is_background) continue;
    View& view = views_[j];
    if ((changed & WatcherOf(j)) != 0) view.is_stale = true;
    if (!view.is_stale) continue;
    if (view.seen_at_ns && network_->num_sending(j) > kFewTransfers &&
        time_->local_ns - *view.seen_at_ns < job.SoloSendingNs(job.phase) / kLooksPerPhase) {
      continue;
    }
    RecordView(j);
    Look(j);
  }
}

void DomainDelays::RecordViews() {
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    if (jobs_[j]->is_phase_running) RecordView(j);
  }
}

void DomainDelays::RecordView(uint32_t j) {
  View& view = views_[j];
  const int64_t from_ns = std::exchange(view.recorded_until_ns, time_->local_ns);
  const double weight_s = static_cast<double>(time_->local_ns - from_ns) * 1e-9;
  if (weight_s <= 0) return;
  JobState& job = *jobs_[j];
  if (recorder_->records_timelines() && !view.shares.empty()) {
    const auto& [share, missing] = *std::ranges::max_element(view.shares, {}, [](const auto& s) { return s.second; });
    recorder_->RecordHeldUp(j, job.delay_shares[share], missing, from_ns);
  }
  if (view.bound) account_.bounds.values()[*view.bound] += weight_s;
  for (const auto& [share, delay_per_s] : view.shares) job.delay_shares[share].weight_s += weight_s * delay_per_s;
}

void DomainDelays::Look(uint32_t j) {
  View& view = views_[j];
  view.is_stale = false;
  view.seen_at_ns = time_->local_ns;
  view.bound.reset();
  view.shares.clear();
  const FluidVariable* const slowest = FindSlowest(j);
  if (slowest == nullptr) return;
  JobState& job = *jobs_[j];
  const LocalLink* const bottleneck = network_->FindBottleneck(*slowest);
  view.bound = account_.bounds.Index({job.id, bottleneck != nullptr ? bottleneck->link : slowest->tightest});

  const double kept = network_->Rate(*slowest) / SoloRate(*slowest);
  if (kept > kStalledShare || clocks_->is_computing(j)) {
    job.stalled_since = SimTime::Never();
  } else if (job.stalled_since == SimTime::Never()) {
    job.stalled_since = time_->now();
  }
  if (kept > 1 - kRounding) {
    // Shares that have changed since the phase began may leave a queue pair with more than it will have.
    if (job.shares != nullptr) {
      AddShare(j, LossCause::kSelf, JobId(), slowest->tightest, kLastResort * kLastResort);
    }
  } else if (bottleneck != nullptr) {
    ShareDelay(j, *slowest, *bottleneck, 1 - kept);
  } else {
    ShareOwnDelay(j, *slowest, 1 - kept);
  }
}

void DomainDelays::AddShare(uint32_t j, LossCause cause, JobId culprit, LinkId link, double delay) {
  views_[j].shares.emplace_back(jobs_[j]->DelayShareIndex(cause, culprit, link), delay);
}

// Of a delay over `all`, the part for which the job itself counts, and that of a link with less than its capacity.
void DomainDelays::AddOwnShares(uint32_t j, LinkId link, double delay, double own_excess, double lacking, double all) {
  if (all <= 0) AddShare(j, LossCause::kSelf, JobId(), link, delay * kLastResort);
  if (own_excess > 0) AddShare(j, LossCause::kSelf, JobId(), link, delay * own_excess / all);
  if (lacking > 0) AddShare(j, LossCause::kCapacity, JobId(), link, delay * lacking / all);
}

// Bytes/s that end the variable just in time for its phase to take as long as alone.
double DomainDelays::SoloRate(const FluidVariable& variable) const {
  const auto sending_ns = static_cast<double>(jobs_[variable.job]->SoloSendingNs(variable.phase));
  return variable.bytes * variable.width / (std::max(1.0, sending_ns) * 1e-9);
}

// The transfer that ends last at present rates is the one the job waits for. Null when all have ended.
const FluidVariable* DomainDelays::FindSlowest(uint32_t j) {
  const FluidVariable* slowest = nullptr;
  double longest = -1;
  for (const FluidVariable& variable : network_->VariablesOf(j, jobs_[j]->phase)) {
    if (!network_->IsSending(variable)) continue;
    const double seconds = network_->SecondsLeft(variable);
    if (seconds <= longest * (1 + kTie)) continue;
    longest = seconds;
    slowest = &variable;
  }
  return slowest;
}

// The link is full. Its users account for the delay by their loads, the job itself with what its flows would need
// beyond the whole link, a broken link with its missing capacity, or with what is lost there and comes here again.
void DomainDelays::ShareDelay(uint32_t j, const FluidVariable& slowest, const LocalLink& link, double delay) {
  const JobState& victim = *jobs_[j];
  const double healthy = (*healthy_capacities_)[link.link];
  const auto load_of = [&](const LinkUser& user) {
    return network_->Rate(network_->variable(user.variable)) * user.multiplicity;
  };
  double own_demand = 0;
  double lost = 0;
  double load_of_others = 0;
  for (const LinkUser& user : link.users) {
    const FluidVariable& other = network_->variable(user.variable);
    if (other.job != j) {
      if (jobs_[other.job]->level <= victim.level) load_of_others += load_of(user);
    } else if (other.phase == slowest.phase && network_->IsSending(other)) {
      const double demand = SoloRate(other) * user.multiplicity;
      own_demand += demand * other.arrives;
      lost += demand * (1 - other.arrives);
    }
  }
  const double own_excess = std::max(0.0, own_demand - healthy);
  const double lacking = std::max(0.0, healthy - link.capacity) + lost;
  const double all = own_excess + lacking + load_of_others;
  AddOwnShares(j, link.link, delay, own_excess, lacking, all);
  for (const LinkUser& user : link.users) {
    const FluidVariable& other = network_->variable(user.variable);
    const JobState& culprit = *jobs_[other.job];
    if (other.job == j || culprit.level > victim.level) continue;
    const double load = load_of(user);
    if (load <= 0) continue;
    const LossCause cause = culprit.is_background          ? LossCause::kBackground
                            : culprit.watch != nullptr     ? LossCause::kProfiling
                            : culprit.level < victim.level ? LossCause::kLevel
                                                           : LossCause::kJob;
    AddShare(j, cause, culprit.is_background ? JobId() : culprit.id, link.link, delay * load / all);
  }
}

// No other job can slow the transfer down: its own paths are longer or meet, or a link of them is broken.
void DomainDelays::ShareOwnDelay(uint32_t j, const FluidVariable& slowest, double delay) {
  const double demand = SoloRate(slowest) / slowest.width;
  const double health = slowest.tightest_health * slowest.arrives;
  const bool is_cut = !slowest.tightest.valid() || health <= 0;
  const double healthy = is_cut ? demand : slowest.top_rate / health;
  const double own_excess = std::max(0.0, demand - healthy);
  const double lacking = std::max(0.0, std::min(demand, healthy) - slowest.top_rate);
  AddOwnShares(j, slowest.tightest, delay, own_excess, lacking, own_excess + lacking);
}

}  // namespace fairlead::sim
