#include "sim/contention_domain.h"

#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "sim/queue_pair_shares.h"

namespace fairlead::sim {

namespace {

constexpr int64_t kNeverNs = std::numeric_limits<int64_t>::max();

// What would happen later never happens: simulations end long before, and twice this is still a number.
constexpr int64_t kEndOfTimeNs = 4'000'000'000'000'000'000;
// Longer least iterations are cut to this, so that sums of them stay numbers.
constexpr double kLongestIterationS = 1e9;
constexpr int64_t kLongestIterationNs = 1'000'000'000'000'000'000;

std::vector<TransferLink> SelectContended(const TransferRoute& route, const LinkSharing& sharing) {
  std::vector<TransferLink> contended;
  for (const TransferLink& use : route.links) {
    if (sharing.IsContended(use.link)) contended.push_back(use);
  }
  return contended;
}

// What makes two transfers one variable: phase, bytes, bytes left, top rate, parts, contended links.
using VariableKey = std::tuple<uint32_t, double, double, double, uint32_t, std::vector<TransferLink>>;

LinkId TightestLink(const TransferRoute& route, const IdVector<LinkId, double>& capacities) {
  LinkId tightest;
  double rate = std::numeric_limits<double>::infinity();
  for (const TransferLink& use : route.links) {
    const double own = capacities[use.link] / use.multiplicity;
    if (own < rate) {
      rate = own;
      tightest = use.link;
    }
  }
  return tightest;
}

}  // namespace

ContentionDomain::ContentionDomain(std::vector<JobState*> jobs,
                                   const std::vector<const std::vector<TransferRoute>*>& routes,
                                   const LinkSharing& sharing, const IdVector<LinkId, double>& capacities,
                                   SimTime start, const DomainOptions& options, BinnedSum* busy)
    : jobs_(std::move(jobs)),
      runtimes_(jobs_.size()),
      busy_(busy),
      options_(options),
      start_(start),
      offset_ns_(start.ns()),
      rate_window_(jobs_.size(), 0) {
  is_watched_ = IsWatched();
  BuildNetwork(routes, sharing, capacities);
  ComputeLeastIterations();
  Resume();
}

// [job]: levels without gaps, since each costs the network time and memory. Beyond its limit the last ones are one.
std::vector<uint32_t> ContentionDomain::LocalLevels() const {
  std::vector<uint32_t> distinct;
  for (const JobState* job : jobs_) distinct.push_back(job->level);
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  std::vector<uint32_t> local;
  for (const JobState* job : jobs_) {
    const auto rank = std::lower_bound(distinct.begin(), distinct.end(), job->level) - distinct.begin();
    local.push_back(std::min(static_cast<uint32_t>(rank), fluid::FlowNetwork::kMaxLevels - 1));
  }
  return local;
}

void ContentionDomain::BuildNetwork(const std::vector<const std::vector<TransferRoute>*>& routes,
                                    const LinkSharing& sharing, const IdVector<LinkId, double>& capacities) {
  NetworkDraft draft;
  for (uint32_t j = 0; j < jobs_.size(); ++j) AddVariablesOf(j, *routes[j], sharing, capacities, &draft);
  for (uint32_t v = 0; v < variables_.size(); ++v) {
    Variable& variable = variables_[v];
    variable.width = static_cast<double>(variable.transfers.size()) / variable.parts;
    const fluid::LinkUse& last = draft.uses[v].back();
    if (!links_[last.link].valid()) draft.capacities[last.link] *= variable.width;
  }
  const bool has_bundles = std::ranges::any_of(variables_, [](const Variable& v) { return v.parts > 1; });
  if (has_bundles) MergeEqualLinks(&draft);
  network_ = std::make_unique<fluid::FlowNetwork>(std::move(draft.capacities));
  levels_ = LocalLevels();
  for (uint32_t v = 0; v < variables_.size(); ++v) {
    variables_[v].flow = network_->AddFlow(draft.uses[v], levels_[variables_[v].job], variables_[v].width);
    const size_t index = variables_[v].flow.index();
    if (variable_of_flow_.size() <= index) variable_of_flow_.resize(index + 1);
    variable_of_flow_[index] = v;
  }
  if (options_.follows_delays) WatchLinks();
  if (options_.congestion != nullptr) WatchCongestion(std::move(draft.uses));
}

// Args: uses [variable].
void ContentionDomain::WatchCongestion(std::vector<std::vector<fluid::LinkUse>> uses) {
  std::vector<uint8_t> marks;
  for (const LinkId link : links_) marks.push_back(link.valid() && options_.congestion->Marks(link));
  std::vector<CongestionLoss::Flow> flows;
  for (uint32_t v = 0; v < variables_.size(); ++v) {
    const Variable& variable = variables_[v];
    flows.push_back({.id = variable.flow,
                     .job = variable.job,
                     .level = levels_[variable.job],
                     .num_pairs = variable.width,
                     .top_rate = variable.top_rate,
                     .uses = std::move(uses[v])});
  }
  congestion_ =
      std::make_unique<CongestionLoss>(options_.congestion, network_.get(), marks, std::move(flows), jobs_.size());
}

void ContentionDomain::AddVariablesOf(uint32_t j, const std::vector<TransferRoute>& routes, const LinkSharing& sharing,
                                      const IdVector<LinkId, double>& capacities, NetworkDraft* draft) {
  const JobState& job = *jobs_[j];
  std::vector<uint32_t>& first_variable = runtimes_[j].first_variable;
  first_variable.assign(job.clock.start_ns.size() + 1, static_cast<uint32_t>(variables_.size()));
  std::map<VariableKey, uint32_t> by_key;
  for (uint32_t t = 0; t < job.transfers.size(); ++t) {
    const Transfer& transfer = job.transfers[t];
    const TransferRoute& route = routes[t];
    const std::vector<TransferLink> contended = SelectContended(route, sharing);
    const double left = job.is_phase_running && job.phase == transfer.phase ? job.remaining[t] : transfer.bytes;
    const auto [entry, is_new] = by_key.try_emplace(
        {transfer.phase, transfer.bytes, left, route.top_rate, route.parts, contended}, variables_.size());
    if (!is_new) {
      variables_[entry->second].transfers.push_back(t);
      continue;
    }
    draft->uses.push_back(AddLinkUses(contended, route, capacities, draft));
    if (options_.recorder != nullptr) recorded_links_.push_back(RecordedLinksOf(route));
    variables_.push_back({.job = j,
                          .phase = transfer.phase,
                          .bytes = transfer.bytes,
                          .top_rate = route.top_rate,
                          .transfers = {t},
                          .parts = route.parts,
                          .tightest = TightestLink(route, capacities),
                          .tightest_health = 1});
    Variable& added = variables_.back();
    if (options_.healthy_capacities != nullptr && added.tightest.valid()) {
      added.tightest_health = capacities[added.tightest] / (*options_.healthy_capacities)[added.tightest];
    }
    std::fill(first_variable.begin() + transfer.phase + 1, first_variable.end(),
              static_cast<uint32_t>(variables_.size()));
  }
}

// Local links of the variable that is about to be added. Links that no variable has used before are added, and so is
// this one's own link where no contended link holds it to its top rate (of one transfer; multiplied later).
std::vector<fluid::LinkUse> ContentionDomain::AddLinkUses(std::span<const TransferLink> contended,
                                                          const TransferRoute& route,
                                                          const IdVector<LinkId, double>& capacities,
                                                          NetworkDraft* draft) {
  const auto variable = static_cast<uint32_t>(variables_.size());
  std::vector<fluid::LinkUse> uses;
  double contended_rate = std::numeric_limits<double>::infinity();
  for (const auto& [link, multiplicity] : contended) {
    contended_rate = std::min(contended_rate, capacities[link] / multiplicity * route.parts);
    const auto [local, is_new] = draft->local_of.try_emplace(link, links_.size());
    if (is_new) {
      links_.push_back(link);
      link_users_.emplace_back();
      link_capacities_.push_back(capacities[link]);
      draft->capacities.push_back(capacities[link]);
    }
    uses.push_back({local->second, multiplicity});
    link_users_[local->second].push_back({variable, multiplicity});
  }
  if (contended_rate > route.top_rate || contended.empty()) {
    uses.push_back({static_cast<uint32_t>(links_.size()), 1});
    links_.emplace_back();
    link_users_.push_back({{variable, 1}});
    link_capacities_.push_back(route.top_rate);
    draft->capacities.push_back(route.top_rate);
  }
  return uses;
}

// Links of equal capacity that all variables use alike bound them alike: one of each kind is enough. Sprayed flows make
// many of them, such as the uplinks of a leaf.
void ContentionDomain::MergeEqualLinks(NetworkDraft* draft) {
  using Users = std::vector<std::pair<uint32_t, uint32_t>>;
  std::map<std::pair<double, Users>, uint32_t> kept;
  std::vector<uint32_t> place(links_.size());
  uint32_t num_kept = 0;
  for (uint32_t link = 0; link < links_.size(); ++link) {
    Users users;
    for (const LinkUser& user : link_users_[link]) users.emplace_back(user.variable, user.multiplicity);
    if (links_[link].valid()) {
      const auto [entry, is_new] = kept.try_emplace({draft->capacities[link], std::move(users)}, num_kept);
      place[link] = entry->second;
      if (!is_new) continue;
    } else {
      place[link] = num_kept;
    }
    links_[num_kept] = links_[link];
    std::swap(link_users_[num_kept], link_users_[link]);  // may be one and the same
    link_capacities_[num_kept] = link_capacities_[link];
    draft->capacities[num_kept] = draft->capacities[link];
    ++num_kept;
  }
  links_.resize(num_kept);
  link_users_.resize(num_kept);
  link_capacities_.resize(num_kept);
  draft->capacities.resize(num_kept);
  for (std::vector<fluid::LinkUse>& uses : draft->uses) {
    std::vector<fluid::LinkUse> merged;
    for (const fluid::LinkUse& use : uses) {
      const auto is_there = [&](const fluid::LinkUse& other) { return other.link == place[use.link]; };
      if (std::ranges::none_of(merged, is_there)) merged.push_back({place[use.link], use.multiplicity});
    }
    uses = std::move(merged);
  }
}

void ContentionDomain::ComputeLeastIterations() {
  int64_t longest = -1;
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    const int64_t least = LeastIterationNs(j);
    runtimes_[j].least_iteration_ns = least;
    if (least > longest) {
      longest = least;
      anchor_ = j;
    }
  }
}

// No iteration that begins in this domain is shorter: every phase has its top rate.
int64_t ContentionDomain::LeastIterationNs(uint32_t j) const {
  const IterationClock& clock = jobs_[j]->clock;
  int64_t blocking = 0;
  int64_t tail = 0;  // of this phase and those after it
  int64_t least = clock.total_ns;
  for (size_t p = clock.start_ns.size(); p-- > 0;) {
    double seconds = 0;
    for (uint32_t v = runtimes_[j].first_variable[p]; v < runtimes_[j].first_variable[p + 1]; ++v) {
      if (variables_[v].top_rate > 0) seconds = std::max(seconds, variables_[v].bytes / variables_[v].top_rate);
    }
    // A link of which hardly anything is left would make more nanoseconds than there are numbers.
    seconds = std::min(seconds, kLongestIterationS);
    // Rounding of completions to the nanosecond may make the phase one shorter.
    const int64_t phase_ns = std::max<int64_t>(0, SimDuration::FromSeconds(Seconds(seconds)).ns() - 1);
    tail = std::min(tail + phase_ns, kLongestIterationNs);
    if (clock.blocks[p]) blocking = std::min(blocking + phase_ns, kLongestIterationNs);
    least = std::max(least, clock.start_ns[p] + tail);
  }
  return std::max<int64_t>(1, std::max(least, clock.total_ns + blocking));
}

void ContentionDomain::Resume() {
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    JobState& job = *jobs_[j];
    Runtime& runtime = runtimes_[j];
    FL_CHECK(!job.is_finished);
    runtime.timer_ns = kNeverNs;
    runtime.began_before = job.iteration_start.ns() < offset_ns_;
    runtime.has_begun = job.iteration_start.ns() < offset_ns_ || job.is_phase_running || job.progress_ns > 0;
    if (job.is_phase_running) {
      for (uint32_t v = runtime.first_variable[job.phase]; v < runtime.first_variable[job.phase + 1]; ++v) {
        // Those that are through have nothing left and end at once.
        const double left = std::max(0.0, job.remaining[variables_[v].transfers.front()]);
        network_->Start(variables_[v].flow, left * variables_[v].width);
        ++runtime.num_active;
      }
      FL_CHECK(runtime.num_active > 0);
    }
    if (runtime.has_begun) {
      StepJob(j);
    } else {
      runtime.timer_ns = job.iteration_start.ns() - offset_ns_;
      if (runtime.timer_ns <= 0) StepJob(j);
    }
  }
  if (congestion_ != nullptr) congestion_->Update(local_now_ns_);
}

bool ContentionDomain::IsWatched() const {
  return std::any_of(jobs_.begin(), jobs_.end(), [](const JobState* job) { return job->watch != nullptr; });
}

// Rates are constant from local_now_ns_ to `until_ns`.
void ContentionDomain::RecordTraffic(int64_t until_ns) {
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    const JobState& job = *jobs_[j];
    if (job.watch == nullptr || !job.is_phase_running || !job.watch->counts_phase[job.phase]) continue;
    double rate = 0;
    for (uint32_t v = runtimes_[j].first_variable[job.phase]; v < runtimes_[j].first_variable[job.phase + 1]; ++v) {
      rate += network_->Rate(variables_[v].flow) * variables_[v].parts;
    }
    TrafficWatch& watch = *job.watch;
    const SimTime from(std::max(Global(local_now_ns_), watch.from).ns() - watch.from.ns());
    const SimTime to(Global(until_ns).ns() - watch.from.ns());
    if (to <= from) continue;
    watch.bytes.resize(std::max(watch.bytes.size(), static_cast<size_t>(to.ns() / watch.bin_ns) + 1), 0.0f);
    BinnedSum::Spread(from, to, rate * (to - from).seconds().value(), watch.bytes, watch.bin_ns);
  }
}

void ContentionDomain::Suspend() {
  if (congestion_ != nullptr) congestion_->CountUntil(local_now_ns_);
  if (IsRecorded()) EndLoads();
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    SyncComputeClock(j);
    JobState& job = *jobs_[j];
    if (job.is_phase_running) RecordView(j);
    job.observed_until = now();
    if (congestion_ != nullptr) job.congestion.Add(congestion_->totals()[j]);
    if (!job.is_phase_running) continue;
    for (uint32_t v = runtimes_[j].first_variable[job.phase]; v < runtimes_[j].first_variable[job.phase + 1]; ++v) {
      const Variable& variable = variables_[v];
      const double left = network_->Remaining(variable.flow) / variable.width;
      for (uint32_t t : variable.transfers) job.remaining[t] = left;
    }
  }
}

SimTime ContentionDomain::FinishLowerBound() {
  const int64_t next_event = NextEventNs();
  if (next_event > kEndOfTimeNs) return SimTime::Never();
  const int64_t next_event_ns = next_event + offset_ns_;
  int64_t bound = kNeverNs;
  for (uint32_t j = 0; j < jobs_.size(); ++j) bound = std::min(bound, FinishBoundNs(j, next_event_ns));
  if (bound == kNeverNs) return SimTime::Never();
  bound = std::max(bound, next_event_ns);
  promised_finish_ns_ = std::max(promised_finish_ns_, bound);
  return SimTime(bound);
}

// Of job j, when nothing happens before `next_event_ns`; kNeverNs where it is beyond the end of time.
int64_t ContentionDomain::FinishBoundNs(uint32_t j, int64_t next_event_ns) const {
  const JobState& job = *jobs_[j];
  const Runtime& runtime = runtimes_[j];
  if (job.num_iterations == 0) return kNeverNs;
  // Of an iteration that other rates have brought to where it is, only what comes after it is known.
  const uint64_t left = job.num_iterations - job.iterations_done - (runtime.began_before ? 1 : 0);
  const int64_t from = runtime.began_before ? next_event_ns : job.iteration_start.ns();
  const double rest_ns = static_cast<double>(left) * static_cast<double>(runtime.least_iteration_ns);
  if (rest_ns > static_cast<double>(kEndOfTimeNs)) return kNeverNs;
  return from + static_cast<int64_t>(left) * runtime.least_iteration_ns;
}

int64_t ContentionDomain::NextEventNs() {
  int64_t next = network_->NextCompletion().ns();
  for (const Runtime& runtime : runtimes_) next = std::min(next, runtime.timer_ns);
  return next;
}

void ContentionDomain::AdvanceTo(SimTime limit, RunWatch& watch) {
  while (!has_finished_job_ && !watch.ShouldStop(now())) {
    const int64_t next = NextEventNs();
    const int64_t limit_ns = limit.ns() - offset_ns_;
    if (is_watched_) RecordTraffic(std::min(next, limit_ns));
    if (IsRecorded()) RecordLoads();
    if (next > limit_ns) {
      FollowDelaysUntil(limit_ns);
      completed_.clear();
      network_->AdvanceTo(SimTime(limit_ns), &completed_);
      FL_CHECK(completed_.empty());
      local_now_ns_ = limit_ns;
      return;
    }
    FollowDelaysUntil(next);
    ApplyEventsAt(next);
    if (!anchor_ended_iteration_ || !options_.fast_forward || is_watched_ || has_finished_job_) continue;
    const int64_t jump_limit_ns = JumpLimitNs(limit_ns);
    if (jump_limit_ns > local_now_ns_) TryFastForward(jump_limit_ns);
  }
}

void ContentionDomain::ApplyEventsAt(int64_t local_ns) {
  anchor_ended_iteration_ = false;
  completed_.clear();
  network_->AdvanceTo(SimTime(local_ns), &completed_);
  local_now_ns_ = local_ns;
  due_.clear();
  for (fluid::FlowId flow : completed_) {
    const Variable& variable = variables_[variable_of_flow_[flow.index()]];
    const uint32_t j = variable.job;
    if (jobs_[j]->shares != nullptr) RecordParts(variable);
    if (--runtimes_[j].num_active > 0) continue;
    EndPhase(j);
    due_.push_back(j);
  }
  for (uint32_t j = 0; j < runtimes_.size(); ++j) {
    if (runtimes_[j].timer_ns == local_ns) due_.push_back(j);
  }
  std::sort(due_.begin(), due_.end());
  due_.erase(std::unique(due_.begin(), due_.end()), due_.end());
  for (uint32_t j : due_) StepJob(j);
  if (congestion_ != nullptr) congestion_->Update(local_now_ns_);
}

// A message's part has ended on each of the variable's transfers.
void ContentionDomain::RecordParts(const Variable& variable) {
  JobState& job = *jobs_[variable.job];
  for (const uint32_t t : variable.transfers) {
    job.shares->RecordPart(t, job.part_bytes[t], now() - job.phase_start, now());
  }
}

void ContentionDomain::StepJob(uint32_t j) {
  JobState& job = *jobs_[j];
  Runtime& runtime = runtimes_[j];
  runtime.delay.is_stale = true;
  if (!runtime.has_begun) {
    if (WaitForShift(j)) return;
    AttributeWaitForShift(j);
    runtime.has_begun = true;
    runtime.computing_since_ns = local_now_ns_;
  }
  SyncComputeClock(j);
  for (;;) {
    const size_t num_phases = job.clock.start_ns.size();
    if (job.is_phase_running) break;
    if (job.phase < num_phases) {
      if (job.progress_ns < job.clock.start_ns[job.phase]) break;
      StartPhase(j);
    } else {
      if (job.progress_ns < job.clock.total_ns) break;
      EndIteration(j);
      if (job.is_finished || WaitForShift(j)) return;
    }
  }
  SetTimer(j);
}

// An iteration is about to begin. True when it shall begin later, to meet the job's time shift; its timer is set then.
bool ContentionDomain::WaitForShift(uint32_t j) {
  JobState& job = *jobs_[j];
  if (!job.time_shift) return false;
  const bool has_waited = std::exchange(job.waits_for_shift, false);
  if (!has_waited) {
    const SimDuration wait = WaitOfStart(*job.time_shift, job.shift_progress, job.last_iteration_start, now());
    if (wait.ns() > 0) {
      if (job.shift_progress.is_aligned) job.shift_progress.iterations = 0;
      Runtime& runtime = runtimes_[j];
      runtime.has_begun = false;
      runtime.is_computing = false;
      runtime.timer_ns = local_now_ns_ + wait.ns();
      job.iteration_start = now() + wait;
      job.waits_for_shift = true;
      return true;
    }
  }
  job.shift_progress.is_aligned = true;
  return false;
}

void ContentionDomain::SetTimer(uint32_t j) {
  const JobState& job = *jobs_[j];
  Runtime& runtime = runtimes_[j];
  const size_t num_phases = job.clock.start_ns.size();
  // The compute clock may run up to the first blocking phase that is not over.
  int64_t compute_limit = job.clock.total_ns;
  for (size_t p = job.phase; p < num_phases; ++p) {
    if (!job.clock.blocks[p]) continue;
    compute_limit = job.clock.start_ns[p];
    break;
  }
  runtime.is_computing = job.progress_ns < compute_limit;
  runtime.computing_since_ns = local_now_ns_;
  if (!runtime.is_computing) {
    runtime.timer_ns = kNeverNs;
    return;
  }
  int64_t target = compute_limit;
  if (!job.is_phase_running && job.phase < num_phases) target = std::min(target, job.clock.start_ns[job.phase]);
  runtime.timer_ns = local_now_ns_ + (target - job.progress_ns);
}

void ContentionDomain::SyncComputeClock(uint32_t j) {
  Runtime& runtime = runtimes_[j];
  if (!runtime.is_computing || runtime.computing_since_ns == local_now_ns_) return;
  JobState& job = *jobs_[j];
  const int64_t elapsed = local_now_ns_ - runtime.computing_since_ns;
  job.progress_ns += elapsed;
  FL_DCHECK(job.progress_ns <= job.clock.total_ns);
  busy_->Add(Global(runtime.computing_since_ns), Global(local_now_ns_),
             static_cast<double>(elapsed) * 1e-9 * job.clock.busy_fraction * job.num_gpus);
  if (options_.recorder != nullptr) RecordActivity(j, Activity::kCompute, Global(runtime.computing_since_ns));
  runtime.computing_since_ns = local_now_ns_;
}

void ContentionDomain::StartPhase(uint32_t j) {
  JobState& job = *jobs_[j];
  Runtime& runtime = runtimes_[j];
  if (options_.follows_delays) job.solo_left_at_start_ns = job.SoloNsLeft(now());
  job.is_phase_running = true;
  job.phase_start = Global(local_now_ns_);
  job.stalled_since = SimTime::Never();
  runtime.delay.ForNewPhase(local_now_ns_);
  job.activity_since = job.phase_start;
  job.activity_counted = 0;
  for (uint32_t v = runtime.first_variable[job.phase]; v < runtime.first_variable[job.phase + 1]; ++v) {
    const Variable& variable = variables_[v];
    network_->Start(variable.flow, variable.bytes * variable.width);
    ++runtime.num_active;
    if (job.shares == nullptr) continue;
    for (const uint32_t t : variable.transfers) job.part_bytes[t] = variable.bytes;
  }
  if (runtime.num_active == 0) EndPhase(j);
}

void ContentionDomain::EndPhase(uint32_t j) {
  SyncComputeClock(j);
  JobState& job = *jobs_[j];
  BinnedSum::Spread(job.activity_since, Global(local_now_ns_), static_cast<float>(1 - job.activity_counted),
                    job.activity[job.phase], busy_->bin_ns());
  ++job.phase_runs[job.phase];
  job.phase_took_ns[job.phase] = (Global(local_now_ns_) - job.phase_start).ns();
  if (options_.recorder != nullptr) RecordActivity(j, Activity::kPhase, job.phase_start);
  job.is_phase_running = false;
  ++job.phase;
  if (options_.follows_delays) RecordPhase(j);
}

void ContentionDomain::EndIteration(uint32_t j) {
  JobState& job = *jobs_[j];
  const SimTime now = Global(local_now_ns_);
  FL_CHECK_MSG(now > job.iteration_start, "an iteration must take time");
  runtimes_[j].began_before = false;
  if (options_.recorder != nullptr) RecordActivity(j, Activity::kIteration, job.iteration_start);
  ++job.iterations_done;
  job.event_hash = CombineHash(job.event_hash, static_cast<uint64_t>(now.ns()));
  job.last_iteration_end = now;
  if (options_.extrapolate && !settled_rates_) rate_window_.Add(j, local_now_ns_);
  job.shift_progress.CountIteration();
  job.last_iteration_start = job.iteration_start;
  job.iteration_start = now;
  job.progress_ns = 0;
  job.phase = 0;
  if (j == anchor_) anchor_ended_iteration_ = true;
  if (job.num_iterations == 0 || job.iterations_done < job.num_iterations) return;
  job.is_finished = true;
  job.finish_time = now;
  has_finished_job_ = true;
  runtimes_[j].timer_ns = kNeverNs;
  runtimes_[j].is_computing = false;
}

}  // namespace fairlead::sim
