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
      iterations_(std::move(iterations)),
      options_(std::move(options)),
      planner_(fabric, traffic,
               {.num_levels = options_.num_levels - FirstLevel(options_),
                .hash_seed = options_.hash_seed,
                .random_seed = options_.random_seed}),
      pool_(fabric),
      num_gpus_(fabric.num_gpus()) {
  Reserve(options_.reserved_hosts);
  if (options_.allocation.policy != nullptr) allocator_.emplace(fabric, options_.allocation);
  MigrationOptions& migration = options_.migration;
  FL_CHECK_MSG(migration.policy == nullptr || (!allocator_ && !options_.profile_jobs), "workers can't migrate here");
  FL_CHECK_MSG(planner_.NumPlacements() == 1 || (!allocator_ && !options_.profile_jobs),
               "the traffic policy can't choose placements here");
  if (migration.max_rings == 0) {
    migration.max_rings = static_cast<uint32_t>(fabric.switches(topology::NodeKind::kSpine).size());
  }
}

void ClusterController::Reserve(const std::vector<HostId>& hosts) {
  FL_CHECK(hosts.empty() || options_.allocation.policy == nullptr);
  model::Placement reserved;
  for (const HostId host : hosts) {
    for (uint32_t g = 0; g < fabric_->num_gpus_of(host); ++g) {
      reserved.gpus.push_back(fabric_->gpu(host, g));
    }
  }
  pool_.Take(reserved);
  num_gpus_ -= reserved.gpus.size();
}

std::vector<Action> ClusterController::Handle(std::span<const Event> events, SimTime now) {
  std::vector<Action> actions;
  for (const Event& event : events) {
    std::visit(Overloaded{
                   [&](const JobSubmitted& e) { Submit(e.job, now, &actions); },
                   [&](const JobFinished& e) { Finish(e.job, now); },
                   [&](const JobFailed& e) { Fail(e.job, now, &actions); },
                   [&](const LinkHealthChanged& e) { planner_.SetHealth(e.link, e.health); },
                   [&](const JobProfiled& e) { AdoptProfile(e); },
                   [&](const JobSpeedMeasured& e) { AdoptSpeed(e); },
                   [&](const JobProgressed& e) {
                     if (allocator_) allocator_->Adopt(e);
                   },
                   [&](const HostStateChanged& e) {
                     if (allocator_) allocator_->Adopt(e);
                   },
                   [&](const JobMigrated& e) { Resume(e.job, &actions); },
                   [](const WakeUp&) {},
               },
               event);
  }
  if (planner_.Refresh()) plan_is_stale_ = true;
  if (allocator_) {
    Allocate(now, &actions);
  } else {
    StartQueuedJobs(&actions);
  }
  if (std::exchange(places_changed_, false) && options_.migration.policy != nullptr) MigrateWorkers(&actions);
  StartNextProfiling(&actions);
  Replan(&actions);
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
  if (queue_.Contains(job.id) || running_.contains(job.id)) return;
  if (job.num_gpus == 0 || job.num_gpus > num_gpus_) {
    actions->push_back(RejectJob{
        job.id, fmt::format("job {} asks for {} GPUs; the cluster has {}", job.name, job.num_gpus, num_gpus_)});
    return;
  }
  if (job.gpus_per_host == 0) {
    actions->push_back(RejectJob{job.id, fmt::format("job {} asks for 0 GPUs on each of its hosts", job.name)});
    return;
  }
  queue_.Add(job);
}

void ClusterController::Finish(JobId job, SimTime now) {
  Leave(job);
  if (allocator_) allocator_->Remove(job, now);
}

void ClusterController::Fail(JobId job, SimTime now, std::vector<Action>* actions) {
  if (!allocator_ || !running_.contains(job)) return;
  Leave(job);
  allocator_->Adopt(JobFound{job, {}}, now);
  actions->push_back(SuspendJob{job, "its processes have ended"});
}

// Gives the GPUs of a job back, if it runs.
void ClusterController::Leave(JobId job) {
  const auto found = running_.find(job);
  if (found == running_.end()) return;
  pool_.Release(found->second.placement);
  plan_is_stale_ |= !found->second.is_private;
  places_changed_ = true;
  turns_.Remove(job, found->second.arrival_order);
  running_.erase(found);
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
      if (options_.placement_observer) options_.placement_observer(job.id, *placement);
      StartOrReject(job, *placement, "", actions);
    } else {
      // An empty cluster that can't hold the job never will; it must not block the queue forever.
      if (pool_.num_free() < num_gpus_) return;
      actions->push_back(RejectJob{job.id, fmt::format("job {} ({} GPUs, {} per host) does not fit the empty cluster",
                                                       job.name, job.num_gpus, job.gpus_per_host)});
    }
    queue_.PopFront();
  }
}

std::optional<model::Placement> ClusterController::FindPlacement(const model::Job& job) {
  if (!job.hosts.empty()) return scheduling::PlaceOnOwnHosts(pool_, job);
  std::vector<scheduling::PlacedJob> placed;
  placed.reserve(running_.size());
  for (const auto& [id, other] : running_) placed.push_back({&other.job, &other.placement});
  if (!ChoosesPlacements()) return placement_->PlaceBeside({&pool_, placed}, job);
  std::vector<model::Placement> offered = placement_->Offer({&pool_, placed}, job, planner_.NumPlacements());
  if (offered.empty()) return std::nullopt;
  return ChoosePlacement(job, std::move(offered));
}

// A job that can't run at one of them is rejected where the placement policy would have put it.
model::Placement ClusterController::ChoosePlacement(const model::Job& job, std::vector<model::Placement> offered) {
  if (offered.size() == 1) return std::move(offered.front());
  std::vector<model::Iteration> iterations;
  for (const model::Placement& placement : offered) {
    auto iteration = iterations_(job, placement);
    if (!iteration.ok()) return std::move(offered.front());
    iterations.push_back(*std::move(iteration));
  }
  std::vector<traffic::JobView> candidates;
  for (const model::Iteration& iteration : iterations) {
    traffic::JobView& view = candidates.emplace_back();
    view.id = job.id;
    view.num_gpus = job.num_gpus;
    view.arrival_order = num_arrived_;
    view.iteration = &iteration;
  }
  std::vector<traffic::JobView> views;
  for (const auto& [id, running] : running_) {
    views.push_back(ViewOf(running));
    if (!running.training) continue;
    // What matters is where it will train, not what its workers' state takes now.
    views.back().iteration = &*running.training;
    views.back().paths = {};
  }
  const traffic::PlacementChoice choice = planner_.ChoosePlacement(views, candidates);
  placements_.Count(choice, candidates.size());
  return std::move(offered[choice.candidate]);
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
  running.arrival_order = num_arrived_++;
  SetIteration(&running, std::move(*iteration));
  places_changed_ = true;
  if (options_.profile_jobs) turns_.Add(job.id, running.arrival_order);
  running_.emplace(job.id, std::move(running));
  return true;
}

void ClusterController::SetIteration(RunningJob* job, model::Iteration iteration) {
  job->iteration = std::move(iteration);
  job->is_private = StaysOnNvlink(job->iteration);
  job->traffic = PlanInForce();
  plan_is_stale_ |= !job->is_private;
}

// All jobs that move give their GPUs back before any takes others: they may exchange hosts.
void ClusterController::MigrateWorkers(std::vector<Action>* actions) {
  std::vector<RunningJob*> jobs;
  std::vector<MovableJob> movable;
  for (auto& [id, job] : running_) {
    jobs.push_back(&job);
    movable.push_back({&job.job, &job.placement, job.training ? &*job.training : &job.iteration});
  }
  const MigrationPlan plan = PlanMigration(pool_, movable, options_.migration.max_rings, *options_.migration.policy);
  if (!plan.is_needed) return;
  std::vector<model::Iteration> iterations;
  for (const JobMove& move : plan.moves) {
    auto iteration = iterations_(jobs[move.job]->job, move.placement);
    if (!iteration.ok()) break;
    iterations.push_back(std::move(*iteration));
  }
  if (plan.moves.empty() || iterations.size() < plan.moves.size()) {
    ++migrations_.num_unrelieved;
    return;
  }
  for (const JobMove& move : plan.moves) pool_.Release(jobs[move.job]->placement);
  for (const JobMove& move : plan.moves) pool_.Take(move.placement);
  const uint64_t moved_before = migrations_.moved_jobs;
  for (size_t m = 0; m < plan.moves.size(); ++m) {
    Migrate(plan.moves[m], jobs[plan.moves[m].job], std::move(iterations[m]), actions);
  }
  migrations_.num_plans += migrations_.moved_jobs > moved_before ? 1 : 0;
}

// A job that has not begun, because it starts now, starts where it shall be.
void ClusterController::Migrate(const JobMove& move, RunningJob* job, model::Iteration training,
                                std::vector<Action>* actions) {
  job->placement = move.placement;
  for (Action& action : *actions) {
    auto* start = std::get_if<StartJob>(&action);
    if (start == nullptr || start->job != job->job.id) continue;
    start->placement = move.placement;
    return SetIteration(job, std::move(training));
  }
  uint32_t num_moved = 0;
  for (const HostMove& host : move.hosts) num_moved += fabric_->num_gpus_of(host.from);
  ++migrations_.moved_jobs;
  migrations_.moved_gpus += num_moved;
  actions->push_back(
      MigrateJob{job->job.id, move.placement, num_moved,
                 fmt::format("{} of its {} GPUs change hosts: a rack has more than {} rings on its uplinks", num_moved,
                             move.placement.gpus.size(), options_.migration.max_rings)});
  job->training = std::move(training);
  if (!options_.migration.worker_state) return Resume(job->job.id, actions);
  SetIteration(job, TransferIteration(*fabric_, move.hosts, options_.migration.worker_state(job->job)));
}

void ClusterController::Resume(JobId job, std::vector<Action>* actions) {
  const auto found = running_.find(job);
  if (found == running_.end() || !found->second.training) return;
  SetIteration(&found->second, *std::exchange(found->second.training, std::nullopt));
  actions->push_back(ResumeJob{job, options_.migration.restart_time});
}

void ClusterController::AdoptProfile(const JobProfiled& event) {
  const auto found = running_.find(event.job);
  if (found == running_.end() || !options_.profile_jobs) return;
  RunningJob& job = found->second;
  FL_CHECK(event.profile.flow_bytes.size() == job.iteration.flows.size());
  job.measured = model::MakeMeasuredIteration(job.iteration, event.profile);
  job.is_period_known = event.profile.is_period_known;
  plan_is_stale_ = true;
  turns_.Remove(event.job, job.arrival_order);
}

void ClusterController::AdoptSpeed(const JobSpeedMeasured& event) {
  const auto found = running_.find(event.job);
  if (found == running_.end()) return;
  found->second.relative_speed = event.relative_speed;
  found->second.starved_for = event.starved_for;
  plan_is_stale_ = true;
}

void ClusterController::StartNextProfiling(std::vector<Action>* actions) {
  if (const std::optional<JobId> next = turns_.BeginNext()) actions->push_back(StartProfiling{*next});
}

// Levels as the policy counts them: without the one that is kept for profiling.
traffic::JobView ClusterController::ViewOf(const RunningJob& job) const {
  const uint32_t level = job.traffic.plan().level;
  return {.id = job.job.id,
          .num_gpus = job.job.num_gpus,
          .arrival_order = job.arrival_order,
          .iteration = job.measured ? &*job.measured : &job.iteration,
          .paths = job.traffic.plan().paths,
          .level = level - std::min(level, FirstLevel(options_)),
          .relative_speed = job.relative_speed,
          .priority_uncertainty = 0,
          .is_period_known = job.is_period_known,
          .starved_for = job.starved_for};
}

// A job of which nothing is known yet: where hashing sends it; above all others while it is profiled, below them
// before.
traffic::JobPlan ClusterController::PlanUnknown(const traffic::TrafficSnapshot& snapshot, const RunningJob& job,
                                                uint32_t num_levels) const {
  const bool is_underway = turns_.IsUnderWay(job.job.id);
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
    if (planner_.router().CountPaths(flow.source, flow.destination) == 0) return false;
    planner_.router().AppendPath(flow.source, flow.destination, 0, &path);
    return std::all_of(path.begin(), path.end(),
                       [&](LinkId link) { return fabric_->tier(link) == topology::LinkTier::kNvlink; });
  });
}

void ClusterController::Replan(std::vector<Action>* actions) {
  // Nothing has paths that links could have changed.
  if (running_.empty()) return planner_.ForgetChangedLinks();
  const bool plan_all = std::exchange(plan_is_stale_, false);
  std::vector<RunningJob*> planned;  // all that the plan shall cover, by id
  std::vector<traffic::JobView> views;
  for (auto& [id, job] : running_) {
    if (!plan_all && job.traffic.is_planned()) continue;
    planned.push_back(&job);
    if (IsKnown(job)) views.push_back(ViewOf(job));
  }
  if (planned.empty()) return;
  const uint32_t first_level = FirstLevel(options_);
  const traffic::TrafficSnapshot snapshot = planner_.Snapshot(views);
  traffic::TrafficPlan plan = plan_all ? planner_.Plan(snapshot) : planner_.PlanApart(snapshot);
  ++counters_.plans;
  const uint32_t num_levels = first_level + planner_.NumLevels(views.size());
  size_t index = 0;
  for (RunningJob* job : planned) {
    if (!IsKnown(*job)) {
      AdoptPlan(job, PlanUnknown(planner_.Snapshot(views), *job, num_levels), actions);
      continue;
    }
    traffic::JobPlan& job_plan = plan.jobs[index++];
    job_plan.level += first_level;
    FL_CHECK(job_plan.level < num_levels);
    AdoptPlan(job, std::move(job_plan), actions);
  }
}

void ClusterController::AdoptPlan(RunningJob* job, traffic::JobPlan plan, std::vector<Action>* actions) {
  FL_CHECK(plan.paths.size() == job->iteration.flows.size());
  const PlanInForce::Change change = job->traffic.Adopt(std::move(plan));
  counters_.path_changes += change.num_moved;
  counters_.level_changes += change.is_relevelled ? 1 : 0;
  if (!change.is_news) return;
  const traffic::JobPlan& now = job->traffic.plan();
  actions->push_back(SetTraffic{.job = job->job.id,
                                .paths = now.paths,
                                .level = now.level,
                                .priority_rank = now.priority_rank,
                                .time_shift = now.time_shift,
                                .balances_shares = now.balances_shares,
                                .senders = now.senders,
                                .reason = now.reason});
}

}  // namespace fairlead::controller
