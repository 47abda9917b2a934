#include "controller/cluster_controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/overloaded.h"
#include "traffic/default_paths.h"

namespace fairlead::controller {

ClusterController::ClusterController(const topology::Fabric& fabric, const scheduling::PlacementPolicy& placement,
                                     const traffic::TrafficPolicy& traffic, IterationProvider iterations,
                                     ControllerOptions options)
    : fabric_(&fabric),
      placement_(&placement),
      traffic_(&traffic),
      iterations_(std::move(iterations)),
      options_(std::move(options)),
      router_(fabric),
      health_(fabric.num_links(), 1.0),
      pool_(fabric) {
  FL_CHECK(options_.num_levels >= 1);
  if (options_.allocation.policy != nullptr) allocator_.emplace(fabric, options_.allocation);
}

std::vector<Action> ClusterController::Handle(std::span<const Event> events, SimTime now) {
  std::vector<Action> actions;
  for (const Event& event : events) {
    std::visit(Overloaded{
                   [&](const JobSubmitted& e) { Submit(e.job, now, &actions); },
                   [&](const JobFinished& e) { Finish(e.job, now); },
                   [&](const LinkHealthChanged& e) {
                     FL_CHECK(e.health >= 0 && e.health <= 1);
                     if (std::exchange(health_[e.link], e.health) != e.health) changed_links_.push_back(e.link);
                   },
                   [&](const JobProfiled& e) { AdoptProfile(e); },
                   [&](const JobSpeedMeasured& e) {
                     const auto found = running_.find(e.job);
                     if (found == running_.end()) return;
                     found->second.relative_speed = e.relative_speed;
                     found->second.starved_for = e.starved_for;
                     plan_is_stale_ = true;
                   },
                   [&](const JobProgressed& e) {
                     if (allocator_) allocator_->Adopt(e);
                   },
                   [&](const HostStateChanged& e) {
                     if (allocator_) allocator_->Adopt(e);
                   },
                   [](const WakeUp&) {},
               },
               event);
  }
  if (!changed_links_.empty()) {
    router_.SetHealth(health_);
    all_healthy_ = std::all_of(health_.begin(), health_.end(), [](double health) { return health == 1; });
    plan_is_stale_ = true;
  }
  if (allocator_) {
    Allocate(now, &actions);
  } else {
    StartQueuedJobs(&actions);
  }
  StartNextProfiling(&actions);
  Replan(&actions);
  changed_links_.clear();
  return actions;
}

const model::Iteration& ClusterController::iteration(JobId job) const {
  const auto found = running_.find(job);
  FL_CHECK_MSG(found != running_.end(), "asked for the iteration of a job that does not run");
  return found->second.iteration;
}

void ClusterController::Submit(const model::Job& job, SimTime now, std::vector<Action>* actions) {
  if (allocator_) {
    const Status status = allocator_->Submit(job, now);
    if (!status.ok()) actions->push_back(RejectJob{job.id, status.message()});
    return;
  }
  if (queued_.contains(job.id) || running_.contains(job.id)) return;
  if (job.num_gpus == 0 || job.num_gpus > fabric_->num_gpus()) {
    actions->push_back(RejectJob{job.id, fmt::format("job {} asks for {} GPUs; the cluster has {}", job.name,
                                                     job.num_gpus, fabric_->num_gpus())});
    return;
  }
  if (job.gpus_per_host == 0) {
    actions->push_back(RejectJob{job.id, fmt::format("job {} asks for 0 GPUs on each of its hosts", job.name)});
    return;
  }
  queue_.push_back(job);
  queued_.insert(job.id);
}

void ClusterController::Finish(JobId job, SimTime now) {
  Leave(job);
  if (allocator_) allocator_->Remove(job, now);
}

// Gives the GPUs of a job back, if it runs.
void ClusterController::Leave(JobId job) {
  const auto found = running_.find(job);
  if (found == running_.end()) return;
  pool_.Release(found->second.placement);
  plan_is_stale_ |= !found->second.is_private;
  running_.erase(found);
  if (profiling_ == job) profiling_ = JobId();
}

// All jobs whose nodes change give their GPUs back before any job takes some. A job that can't run where the policy
// puts it leaves, which may change what the policy wants.
void ClusterController::Allocate(SimTime now, std::vector<Action>* actions) {
  bool is_settled = false;
  while (!is_settled) {
    const std::vector<AllocationChange> changes = allocator_->Decide(now);
    for (const AllocationChange& change : changes) {
      if (!running_.contains(change.job)) continue;
      Leave(change.job);
      actions->push_back(SuspendJob{change.job, change.reason});
    }
    is_settled = true;
    for (const AllocationChange& change : changes) {
      if (change.nodes.empty() || StartAllocated(change, actions)) continue;
      allocator_->Remove(change.job, now);
      is_settled = false;
    }
  }
}

bool ClusterController::StartAllocated(const AllocationChange& change, std::vector<Action>* actions) {
  model::Job job = allocator_->job(change.job);
  model::Placement placement;
  for (const scheduling::NodeShare& share : change.nodes) {
    scheduling::AppendFreeGpus(pool_, share.node, share.num_gpus, &placement);
  }
  job.num_gpus = static_cast<uint32_t>(placement.gpus.size());
  return StartOrReject(job, placement, change.reason, actions);
}

void ClusterController::StartQueuedJobs(std::vector<Action>* actions) {
  while (!queue_.empty()) {
    const model::Job& job = queue_.front();
    const auto placement = FindPlacement(job);
    if (placement) {
      StartOrReject(job, *placement, "", actions);
    } else {
      // An empty cluster that can't hold the job never will; it must not block the queue forever.
      if (pool_.num_free() < fabric_->num_gpus()) return;
      actions->push_back(RejectJob{job.id, fmt::format("job {} ({} GPUs, {} per host) does not fit the empty cluster",
                                                       job.name, job.num_gpus, job.gpus_per_host)});
    }
    queued_.erase(job.id);
    queue_.pop_front();
  }
}

std::optional<model::Placement> ClusterController::FindPlacement(const model::Job& job) const {
  if (!job.hosts.empty()) return scheduling::PlaceOnOwnHosts(pool_, job);
  std::vector<scheduling::PlacedJob> placed;
  placed.reserve(running_.size());
  for (const auto& [id, other] : running_) placed.push_back({&other.job, &other.placement});
  return placement_->PlaceBeside({&pool_, placed}, job);
}

bool ClusterController::StartOrReject(const model::Job& job, const model::Placement& placement, std::string reason,
                                      std::vector<Action>* actions) {
  auto iteration = iterations_(job, placement);
  if (!iteration.ok()) {
    actions->push_back(RejectJob{job.id, iteration.status().message()});
    return false;
  }
  pool_.Take(placement);
  actions->push_back(StartJob{job.id, placement, std::move(reason)});
  RunningJob running;
  running.job = job;
  running.placement = placement;
  running.iteration = std::move(*iteration);
  running.arrival_order = num_arrived_++;
  running.is_private = StaysOnNvlink(running.iteration);
  plan_is_stale_ |= !running.is_private;
  running_.emplace(job.id, std::move(running));
  return true;
}

void ClusterController::AdoptProfile(const JobProfiled& event) {
  const auto found = running_.find(event.job);
  if (found == running_.end() || !options_.profile_jobs) return;
  RunningJob& job = found->second;
  FL_CHECK(event.profile.flow_bytes.size() == job.iteration.flows.size());
  job.measured = model::MakeMeasuredIteration(job.iteration, event.profile);
  job.is_period_known = event.profile.is_period_known;
  plan_is_stale_ = true;
  if (profiling_ == event.job) profiling_ = JobId();
}

// Two jobs with a level above all others would contradict each other, so they take turns, in order of arrival.
void ClusterController::StartNextProfiling(std::vector<Action>* actions) {
  if (!options_.profile_jobs || profiling_.valid()) return;
  const RunningJob* next = nullptr;
  for (const auto& [id, job] : running_) {
    if (!job.measured && (next == nullptr || job.arrival_order < next->arrival_order)) next = &job;
  }
  if (next == nullptr) return;
  profiling_ = next->job.id;
  actions->push_back(StartProfiling{profiling_});
}

// Levels as the policy counts them: without the one that is kept for profiling.
traffic::JobView ClusterController::ViewOf(const RunningJob& job) const {
  return {.id = job.job.id,
          .num_gpus = job.job.num_gpus,
          .arrival_order = job.arrival_order,
          .iteration = job.measured ? &*job.measured : &job.iteration,
          .paths = job.paths,
          .level = job.level - std::min(job.level, FirstLevel()),
          .relative_speed = job.relative_speed,
          .priority_uncertainty = 0,
          .is_period_known = job.is_period_known,
          .starved_for = job.starved_for};
}

// A job of which nothing is known yet: where hashing sends it; above all others while it is profiled, below them
// before.
traffic::JobPlan ClusterController::PlanUnknown(const traffic::TrafficSnapshot& snapshot, const RunningJob& job,
                                                uint32_t num_levels) const {
  const bool is_underway = job.job.id == profiling_;
  return {.id = job.job.id,
          .paths = traffic::DefaultPaths(snapshot, ViewOf(job)),
          .level = is_underway ? 0 : num_levels - 1,
          .priority_rank = is_underway ? 0 : num_levels - 1,
          .time_shift = {},
          .reason = is_underway ? "is being profiled: the top level to itself, paths of its hashes"
                                : "waits to be profiled: the last level, paths of its hashes"};
}

bool ClusterController::StaysOnNvlink(const model::Iteration& iteration) const {
  model::Path path;
  return std::all_of(iteration.flows.begin(), iteration.flows.end(), [&](const model::FlowDemand& flow) {
    if (fabric_->host_of(flow.source) != fabric_->host_of(flow.destination)) return false;
    path.clear();
    if (router_.CountPaths(flow.source, flow.destination) == 0) return false;
    router_.AppendPath(flow.source, flow.destination, 0, &path);
    return std::all_of(path.begin(), path.end(),
                       [&](LinkId link) { return fabric_->tier(link) == topology::LinkTier::kNvlink; });
  });
}

void ClusterController::Replan(std::vector<Action>* actions) {
  if (running_.empty()) return;
  const bool plan_all = std::exchange(plan_is_stale_, false);
  std::vector<RunningJob*> planned;  // all that the plan shall cover, by id
  std::vector<traffic::JobView> views;
  for (auto& [id, job] : running_) {
    if (!plan_all && job.is_planned) continue;
    planned.push_back(&job);
    if (IsKnown(job)) views.push_back(ViewOf(job));
  }
  if (planned.empty()) return;
  const uint32_t first_level = FirstLevel();
  const traffic::TrafficSnapshot snapshot{.router = &router_,
                                          .health = all_healthy_ ? nullptr : &health_,
                                          .jobs = views,
                                          .num_levels = options_.num_levels - first_level,
                                          .hash_seed = options_.hash_seed,
                                          .random_seed = options_.random_seed,
                                          .changed_links = changed_links_};
  traffic::TrafficPlan plan = traffic_->Plan(snapshot);
  ++counters_.plans;
  const uint32_t num_levels = first_level + traffic_->NumLevels(snapshot.num_levels, views.size());
  FL_CHECK_MSG(plan.jobs.size() == views.size(), "a traffic policy must plan every job");
  size_t index = 0;
  for (RunningJob* job : planned) {
    if (!IsKnown(*job)) {
      AdoptPlan(*job, PlanUnknown(snapshot, *job, num_levels), actions);
      continue;
    }
    traffic::JobPlan& job_plan = plan.jobs[index++];
    FL_CHECK_MSG(job_plan.id == job->job.id, "a traffic policy must keep the snapshot's order");
    job_plan.level += first_level;
    FL_CHECK(job_plan.level < num_levels);
    AdoptPlan(*job, std::move(job_plan), actions);
  }
}

void ClusterController::AdoptPlan(RunningJob& job, traffic::JobPlan plan, std::vector<Action>* actions) {
  FL_CHECK(plan.paths.size() == job.iteration.flows.size());
  if (job.is_planned) {
    uint64_t moved = 0;
    for (size_t f = 0; f < plan.paths.size(); ++f) moved += plan.paths[f] != job.paths[f];
    counters_.path_changes += moved;
    counters_.level_changes += plan.level != job.level;
    const bool same_reason = plan.reason == job.reason && plan.priority_rank == job.priority_rank;
    const bool same_timing = plan.time_shift == job.time_shift && plan.balances_shares == job.balances_shares;
    if (moved == 0 && plan.level == job.level && same_timing && same_reason) return;
  }
  job.is_planned = true;
  job.paths = std::move(plan.paths);
  job.level = plan.level;
  job.priority_rank = plan.priority_rank;
  job.time_shift = plan.time_shift;
  job.balances_shares = plan.balances_shares;
  job.reason = std::move(plan.reason);
  actions->push_back(SetTraffic{.job = job.job.id,
                                .paths = job.paths,
                                .level = job.level,
                                .priority_rank = job.priority_rank,
                                .time_shift = job.time_shift,
                                .balances_shares = job.balances_shares,
                                .reason = job.reason});
}

}  // namespace fairlead::controller
