#include "controller/job_allocator.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/check.h"

namespace fairlead::controller {
namespace {

Status CheckSizes(const model::Job& job, const std::vector<uint32_t>& sizes, const topology::Fabric& fabric) {
  if (job.num_gpus > fabric.num_gpus()) {
    return InvalidArgument(
        fmt::format("job {} asks for {} GPUs; the cluster has {}", job.name, job.num_gpus, fabric.num_gpus()));
  }
  const bool ascends = std::ranges::adjacent_find(sizes, std::greater_equal()) == sizes.end();
  if (sizes.empty() || sizes.front() == 0 || !ascends || !std::ranges::binary_search(sizes, job.num_gpus)) {
    return InvalidArgument(
        fmt::format("job {}: expected sizes above 0, ascending, with the {} GPUs that it asks for among them", job.name,
                    job.num_gpus));
  }
  if (job.num_iterations > 0) return OkStatus();
  return InvalidArgument(
      fmt::format("job {}: expected a number of iterations; allocation is for jobs that end", job.name));
}

// A policy that wants to be asked at once, again and again, must not stop time.
constexpr SimDuration kShortestRound(1'000'000'000);

uint32_t NumGpus(const std::vector<scheduling::NodeShare>& shares) {
  uint32_t sum = 0;
  for (const scheduling::NodeShare& share : shares) sum += share.num_gpus;
  return sum;
}

double TimeSince(SimTime then, SimTime now) { return (now - then).seconds().value(); }

std::string WordsOf(const scheduling::JobReason& reason, size_t num_jobs) {
  std::string text = fmt::format("{}: place {} of {}", scheduling::ChangeName(reason.change), reason.order, num_jobs);
  if (reason.service_position) text += fmt::format(", {} by attained service", *reason.service_position);
  if (reason.remaining_position) text += fmt::format(", {} by what remains", *reason.remaining_position);
  if (reason.was_promoted) text += ", goes first as it waited long";
  if (reason.cause != scheduling::PendingCause::kNone) {
    text += fmt::format("; {}", scheduling::PendingCauseName(reason.cause));
  }
  return text;
}

// Of a job that stays as it is, whatever the policy thinks.
scheduling::JobGrant KeptGrant(const scheduling::AllocationJob& job) {
  scheduling::JobGrant grant;
  grant.nodes = job.current;
  for (const scheduling::NodeShare& share : job.current) {
    grant.resources = grant.resources + scheduling::Resources{share.num_gpus, share.num_cores};
  }
  grant.reason.change = scheduling::Change::kKept;
  grant.memory = job.memory;
  return grant;
}

}  // namespace

SpeedSource SpeedsOfProfiles(SpeedProfiler profiler) {
  return [profiler = std::move(profiler)](const model::Job& job) -> Result<std::unique_ptr<prediction::JobSpeed>> {
    FL_ASSIGN_OR_RETURN(std::vector<prediction::SpeedPoint> profile, profiler(job));
    FL_ASSIGN_OR_RETURN(prediction::ContendedSpeed speed, prediction::ContendedSpeed::Create(std::move(profile)));
    return std::unique_ptr<prediction::JobSpeed>(std::make_unique<prediction::ContendedSpeed>(std::move(speed)));
  };
}

std::vector<uint32_t> UsableSizes(const model::Job& job, size_t cluster_gpus) {
  std::vector<uint32_t> sizes = job.elasticity.sizes;
  if (sizes.empty()) sizes.push_back(job.num_gpus);
  std::erase_if(sizes, [&](uint32_t gpus) { return gpus > cluster_gpus; });
  return sizes;
}

JobAllocator::JobAllocator(const topology::Fabric& fabric, AllocationOptions options)
    : fabric_(&fabric), options_(std::move(options)) {
  FL_CHECK(options_.policy != nullptr && options_.speeds);
  hosts_.assign(fabric.num_hosts(), HostState::kUp);
  is_used_spare_.assign(fabric.num_hosts(), 0);
}

Status JobAllocator::Submit(const model::Job& job, SimTime now, const JobHistory& history) {
  if (entries_.contains(job.id)) return OkStatus();
  const std::vector<uint32_t> sizes = UsableSizes(job, fabric_->num_gpus());
  FL_RETURN_IF_ERROR(CheckSizes(job, sizes, *fabric_));
  Entry entry;
  entry.job = job;
  FL_ASSIGN_OR_RETURN(entry.speed, options_.speeds(job));
  FL_CHECK_MSG(sizes.size() == entry.speed->num_sizes(), "a profile must have a point for each size");
  for (const uint32_t gpus : sizes) entry.sizes.push_back({gpus, 0, 0});
  entry.requested = static_cast<uint32_t>(std::ranges::find(sizes, job.num_gpus) - sizes.begin());
  entry.waiting_since = now;
  entry.attained_service = history.attained_service;
  entry.executed_s = history.executed_s;
  entry.num_starts = history.num_starts;
  entry.iterations_done = history.iterations_done;
  entry.is_predictable = job.elasticity.predictable_after.value_or(1) <= 0;
  entries_.emplace(job.id, std::move(entry));
  news_.arrival = true;
  return OkStatus();
}

JobHistory JobAllocator::HistoryOf(JobId id) const {
  const Entry& entry = entries_.at(id);
  const uint32_t of_now = entry.current.empty() ? 0 : 1;
  return {entry.attained_service, entry.executed_s, entry.num_starts - of_now, entry.iterations_done};
}

void JobAllocator::Remove(JobId job, SimTime now) {
  const auto found = entries_.find(job);
  if (found == entries_.end()) return;
  CountService(now);
  if (found->second.executed_s > 0) {
    ended_service_.push_back(found->second.executed_s * found->second.job.num_gpus);
    // Old ones say little about jobs to come, and memory is finite.
    constexpr size_t kMostEnded = 10000;
    if (ended_service_.size() > kMostEnded) ended_service_.erase(ended_service_.begin());
  }
  entries_.erase(found);
  news_.departure = true;
}

void JobAllocator::Adopt(const JobProgressed& progress) {
  const auto found = entries_.find(progress.job);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  entry.iterations_done = progress.iterations_done;
  const double share = progress.iterations_done / static_cast<double>(entry.job.num_iterations);
  const auto after = entry.job.elasticity.predictable_after;
  if (!entry.is_predictable && after && share >= *after) {
    entry.is_predictable = true;
    news_.flip = true;
  }
  if (!options_.learns_speeds) return;
  entry.speed->Observe(NumGpus(entry.current), static_cast<uint32_t>(entry.current.size()), progress.iteration_time,
                       progress.measured_for);
}

void JobAllocator::Adopt(const JobFound& found, SimTime now) {
  const auto known = entries_.find(found.job);
  if (known == entries_.end() || known->second.current == found.nodes) return;
  CountService(now);
  Move(found.nodes, now, &known->second);
  news_.hosts = true;
}

void JobAllocator::Adopt(const RestartMeasured& restart) {
  const auto known = entries_.find(restart.job);
  if (known != entries_.end()) known->second.job.elasticity.restart_cost = restart.cost;
}

void JobAllocator::Adopt(const SpeedMeasured& speed) {
  const auto known = entries_.find(speed.job);
  if (known == entries_.end()) return;
  known->second.speed->Observe(speed.num_gpus, speed.num_hosts, speed.iteration_time, speed.measured_for);
}

void JobAllocator::Adopt(const HostStateChanged& change) {
  FL_CHECK(change.host.valid() && change.host.index() < hosts_.size());
  if (std::exchange(hosts_[change.host], change.state) == change.state) return;
  news_.hosts = true;
  size_t num_lost = 0;
  for (const HostState state : hosts_) num_lost += state == HostState::kDown || state == HostState::kIsolated ? 1 : 0;
  for (size_t h = 0; h < hosts_.size(); ++h) {
    const bool is_used = hosts_[HostId(h)] == HostState::kSpare && num_lost > 0;
    is_used_spare_[HostId(h)] = is_used ? 1 : 0;
    if (is_used) --num_lost;
  }
}

bool JobAllocator::IsDraining(HostId host) const {
  return hosts_[host] == HostState::kDraining || (hosts_[host] == HostState::kSpare && is_used_spare_[host] == 0);
}

void JobAllocator::SetPinned(PinnedJobs pinned, SimTime now) {
  CountService(now);
  pinned_ = std::move(pinned);
  for (const auto& [id, pin] : pinned_) {
    const auto known = entries_.find(id);
    if (known == entries_.end() || pin.num_gpus_held == NumGpus(known->second.current)) continue;
    Entry& entry = known->second;
    entry.resized_at = now;  // at the earliest
    if (entry.current.empty()) entry.waiting_since = now;
    if (pin.num_gpus_held == 0) entry.running_since = now;
  }
}

IdVector<HostId, uint32_t> JobAllocator::HeldGpus(const scheduling::AllocationSnapshot& snapshot,
                                                  const std::vector<bool>& stays) const {
  IdVector<HostId, uint32_t> held(hosts_.size());
  for (size_t j = 0; j < snapshot.jobs.size(); ++j) {
    if (!stays[j]) continue;
    for (const scheduling::NodeShare& share : snapshot.jobs[j].current) held[share.node] += share.num_gpus;
  }
  return held;
}

IdVector<HostId, scheduling::NodeCapacity> JobAllocator::UsableNodes(const IdVector<HostId, uint32_t>& kept) const {
  IdVector<HostId, scheduling::NodeCapacity> nodes(hosts_.size());
  for (size_t h = 0; h < hosts_.size(); ++h) {
    const HostId host(h);
    if (IsDraining(host)) {
      nodes[host].num_gpus = kept[host];
    } else if (hosts_[host] == HostState::kUp || is_used_spare_[host] != 0) {
      nodes[host].num_gpus = fabric_->num_gpus_of(host);
    }
  }
  for (const auto& [id, pin] : pinned_) {
    for (const scheduling::NodeShare& share : pin.reserved) {
      // What is kept of a draining host is that of the others.
      if (!IsDraining(share.node)) nodes[share.node].num_gpus -= std::min(nodes[share.node].num_gpus, share.num_gpus);
    }
  }
  return nodes;
}

bool JobAllocator::IsOnDrainingHosts(const scheduling::AllocationJob& job) const {
  return job.is_running() &&
         std::ranges::all_of(job.current, [&](const scheduling::NodeShare& share) { return IsDraining(share.node); });
}

scheduling::AllocationPlan JobAllocator::Ask(const scheduling::AllocationSnapshot& snapshot) const {
  Result<scheduling::AllocationPlan> plan = options_.policy->Decide(snapshot);
  FL_CHECK_MSG(plan.ok(), "the allocator's snapshot is valid");
  return *std::move(plan);
}

scheduling::AllocationPlan JobAllocator::AskWithout(const std::vector<bool>& is_left_out,
                                                    const scheduling::AllocationSnapshot& snapshot) const {
  if (std::ranges::find(is_left_out, true) == is_left_out.end()) return Ask(snapshot);
  scheduling::AllocationSnapshot asked = snapshot;
  asked.jobs.clear();
  for (size_t j = 0; j < snapshot.jobs.size(); ++j) {
    if (!is_left_out[j]) {
      asked.jobs.push_back(snapshot.jobs[j]);
      continue;
    }
    for (const scheduling::NodeShare& share : snapshot.jobs[j].current) {
      asked.nodes[share.node].num_gpus -= share.num_gpus;
    }
  }
  scheduling::AllocationPlan plan = Ask(asked);
  std::vector<scheduling::JobGrant> granted = std::exchange(plan.jobs, {});
  size_t next = 0;
  for (size_t j = 0; j < snapshot.jobs.size(); ++j) {
    plan.jobs.push_back(is_left_out[j] ? KeptGrant(snapshot.jobs[j]) : std::move(granted[next++]));
  }
  return plan;
}

// Policies know capacities only. One that stops a job for room that nobody else may have is asked again without that
// job and its room; one that gives a draining host's room to another job, with less of it, which ends at the latest
// when there is none left.
scheduling::AllocationPlan JobAllocator::AskPolicy(scheduling::AllocationSnapshot* snapshot) const {
  std::vector<bool> stays(snapshot->jobs.size(), true);  // may keep what it has of draining hosts
  std::vector<bool> is_left_out(snapshot->jobs.size());
  while (true) {
    snapshot->nodes = UsableNodes(HeldGpus(*snapshot, stays));
    scheduling::AllocationPlan plan = AskWithout(is_left_out, *snapshot);
    std::vector<bool> is_changed(plan.jobs.size());
    bool is_stopped_in_vain = false;
    bool is_taken = false;
    for (size_t j = 0; j < plan.jobs.size(); ++j) {
      is_changed[j] = plan.jobs[j].nodes != snapshot->jobs[j].current;
      if (!is_changed[j]) continue;
      if (plan.jobs[j].nodes.empty() && IsOnDrainingHosts(snapshot->jobs[j])) {
        stays[j] = is_left_out[j] = is_stopped_in_vain = true;
      }
      for (const scheduling::NodeShare& share : plan.jobs[j].nodes) is_taken |= IsDraining(share.node);
    }
    if (is_stopped_in_vain) continue;
    if (!is_taken) return plan;
    for (size_t j = 0; j < stays.size(); ++j) stays[j] = stays[j] && !is_changed[j];
  }
}

size_t JobAllocator::num_waiting() const {
  return static_cast<size_t>(
      std::ranges::count_if(entries_, [](const auto& entry) { return entry.second.current.empty(); }));
}

// Service since the last time; also of restarts, as the GPUs are held.
void JobAllocator::CountService(SimTime now) {
  const double passed_s = TimeSince(counted_until_, now);
  counted_until_ = now;
  if (passed_s <= 0) return;
  for (auto& [id, entry] : entries_) {
    const auto pin = pinned_.find(id);
    const uint32_t num_gpus = pin == pinned_.end() ? NumGpus(entry.current) : pin->second.num_gpus_held;
    if (num_gpus == 0) continue;
    entry.executed_s += passed_s;
    entry.attained_service += passed_s * units_.Of({num_gpus, 0});
  }
}

scheduling::Trigger JobAllocator::FindTrigger() const {
  using enum scheduling::Trigger;
  return news_.hosts ? kNodes : news_.flip ? kFlip : news_.arrival ? kArrival : news_.departure ? kDeparture : kRound;
}

scheduling::AllocationJob JobAllocator::Describe(Entry& entry) const {
  for (size_t k = 0; k < entry.sizes.size(); ++k) entry.sizes[k].iteration_s = entry.speed->Predict(k).value();
  scheduling::AllocationJob described;
  described.id = entry.job.id;
  described.submission = entry.job.arrival;
  described.sizes = entry.sizes;
  described.requested = entry.requested;
  described.current = entry.current;
  described.attained_service = entry.attained_service;
  described.executed_s = entry.executed_s;
  described.waiting_since = entry.waiting_since;
  described.running_since = entry.running_since;
  described.resized_at = entry.resized_at;
  described.num_restarts = entry.num_starts > 0 ? entry.num_starts - 1 : 0;
  described.restart_cost_s = entry.job.elasticity.restart_cost.seconds().value();
  described.is_predictable = entry.is_predictable;
  described.prediction_error = entry.speed->relative_error();
  if (entry.is_predictable) {
    described.remaining_iterations =
        std::max(0.0, static_cast<double>(entry.job.num_iterations) - entry.iterations_done);
  }
  described.memory = entry.memory;
  return described;
}

scheduling::AllocationSnapshot JobAllocator::TakeSnapshot(SimTime now) {
  scheduling::AllocationSnapshot snapshot;
  snapshot.now = now;
  snapshot.trigger = FindTrigger();
  snapshot.units = units_;
  snapshot.ended_service = ended_service_;
  snapshot.memory = memory_;
  for (auto& [id, entry] : entries_) {
    if (!pinned_.contains(id)) snapshot.jobs.push_back(Describe(entry));
  }
  return snapshot;
}

void JobAllocator::Move(const std::vector<scheduling::NodeShare>& nodes, SimTime now, Entry* entry) {
  const bool was_running = !entry->current.empty();
  entry->current = nodes;
  entry->resized_at = now;
  if (nodes.empty()) {
    entry->waiting_since = now;
    return;
  }
  ++entry->num_starts;
  if (!was_running) entry->running_since = now;
}

std::vector<AllocationChange> JobAllocator::Decide(SimTime now) {
  CountService(now);
  news_.hosts |=
      std::ranges::any_of(left_out_, [this](JobId job) { return entries_.contains(job) && !pinned_.contains(job); });
  const bool has_news = news_.any();
  if (entries_.empty() || (!has_news && now < next_wake_up_)) {
    if (entries_.empty()) next_wake_up_ = SimTime::Never();
    news_.departure = news_.hosts = false;
    return {};
  }
  scheduling::AllocationSnapshot snapshot = TakeSnapshot(now);
  if (snapshot.jobs.empty()) return {};  // what is news stays so until one of them is free
  news_ = {};
  left_out_.clear();
  for (const auto& [id, entry] : entries_) {
    if (pinned_.contains(id)) left_out_.push_back(id);
  }
  const scheduling::AllocationPlan plan = AskPolicy(&snapshot);
  if (options_.observer) options_.observer(snapshot, plan);
  memory_ = plan.memory;
  next_wake_up_ = std::max(plan.next_wake_up, now + kShortestRound);
  std::vector<AllocationChange> changes;
  for (size_t j = 0; j < snapshot.jobs.size(); ++j) {
    const scheduling::JobGrant& grant = plan.jobs[j];
    Entry& entry = entries_.at(snapshot.jobs[j].id);
    entry.memory = grant.memory;
    if (grant.nodes == entry.current) continue;
    Move(grant.nodes, now, &entry);
    changes.push_back({entry.job.id, grant.nodes, WordsOf(grant.reason, snapshot.jobs.size())});
  }
  return changes;
}

}  // namespace fairlead::controller
