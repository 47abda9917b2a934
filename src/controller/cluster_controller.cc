#include "controller/cluster_controller.h"

#include <fmt/format.h>

#include <utility>

#include "base/check.h"

namespace fairlead::controller {

namespace {

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <class... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

}  // namespace

ClusterController::ClusterController(const topology::Fabric& fabric, const scheduling::PlacementPolicy& placement,
                                     const traffic::TrafficPolicy& traffic, IterationProvider iterations,
                                     ControllerOptions options)
    : fabric_(&fabric),
      placement_(&placement),
      traffic_(&traffic),
      iterations_(std::move(iterations)),
      options_(options),
      router_(fabric),
      health_(fabric.num_links(), 1.0),
      pool_(fabric) {
  FL_CHECK(options_.num_levels >= 1);
}

std::vector<Action> ClusterController::Handle(std::span<const Event> events) {
  std::vector<Action> actions;
  bool health_changed = false;
  for (const Event& event : events) {
    std::visit(Overloaded{
                   [&](const JobSubmitted& e) { Submit(e.job, &actions); },
                   [&](const JobFinished& e) { Finish(e.job); },
                   [&](const LinkHealthChanged& e) {
                     FL_CHECK(e.health >= 0 && e.health <= 1);
                     health_[e.link] = e.health;
                     health_changed = true;
                   },
               },
               event);
  }
  if (health_changed) router_.SetHealth(health_);
  StartQueuedJobs(&actions);
  Replan(&actions);
  return actions;
}

const model::Iteration& ClusterController::iteration(JobId job) const {
  const auto found = running_.find(job);
  FL_CHECK_MSG(found != running_.end(), "asked for the iteration of a job that does not run");
  return found->second.iteration;
}

void ClusterController::Submit(const model::Job& job, std::vector<Action>* actions) {
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

void ClusterController::Finish(JobId job) {
  const auto found = running_.find(job);
  if (found == running_.end()) return;
  pool_.Release(found->second.placement);
  running_.erase(found);
}

void ClusterController::StartQueuedJobs(std::vector<Action>* actions) {
  while (!queue_.empty()) {
    const model::Job& job = queue_.front();
    const auto placement = placement_->Place(pool_, job);
    if (placement) {
      StartOrReject(job, *placement, actions);
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

void ClusterController::StartOrReject(const model::Job& job, const model::Placement& placement,
                                      std::vector<Action>* actions) {
  auto iteration = iterations_(job, placement);
  if (!iteration.ok()) {
    actions->push_back(RejectJob{job.id, iteration.status().message()});
    return;
  }
  pool_.Take(placement);
  actions->push_back(StartJob{job.id, placement});
  RunningJob running;
  running.job = job;
  running.placement = placement;
  running.iteration = std::move(*iteration);
  running.arrival_order = num_arrived_++;
  running_.emplace(job.id, std::move(running));
}

void ClusterController::Replan(std::vector<Action>* actions) {
  if (running_.empty()) return;
  std::vector<traffic::JobView> views;
  views.reserve(running_.size());
  for (const auto& [id, job] : running_) {
    views.push_back({.id = id,
                     .num_gpus = job.job.num_gpus,
                     .arrival_order = job.arrival_order,
                     .iteration = &job.iteration,
                     .paths = job.paths,
                     .level = job.level,
                     .relative_speed = 1,
                     .starved_for = Seconds()});
  }
  const traffic::TrafficSnapshot snapshot{.router = &router_,
                                          .health = &health_,
                                          .jobs = views,
                                          .num_levels = options_.num_levels,
                                          .hash_seed = options_.hash_seed,
                                          .random_seed = options_.random_seed};
  traffic::TrafficPlan plan = traffic_->Plan(snapshot);
  ++counters_.plans;
  FL_CHECK_MSG(plan.jobs.size() == running_.size(), "a traffic policy must plan every job");
  size_t index = 0;
  for (auto& [id, job] : running_) {
    traffic::JobPlan& job_plan = plan.jobs[index++];
    FL_CHECK_MSG(job_plan.id == id, "a traffic policy must keep the snapshot's order");
    AdoptPlan(job, std::move(job_plan), actions);
  }
}

void ClusterController::AdoptPlan(RunningJob& job, traffic::JobPlan plan, std::vector<Action>* actions) {
  FL_CHECK(plan.paths.size() == job.iteration.flows.size());
  FL_CHECK(plan.level < options_.num_levels);
  if (job.is_planned) {
    uint64_t moved = 0;
    for (size_t f = 0; f < plan.paths.size(); ++f) moved += plan.paths[f] != job.paths[f];
    counters_.path_changes += moved;
    counters_.level_changes += plan.level != job.level;
    const bool same_words = plan.reason == job.reason && plan.priority_rank == job.priority_rank;
    if (moved == 0 && plan.level == job.level && same_words) return;
  }
  job.is_planned = true;
  job.paths = std::move(plan.paths);
  job.level = plan.level;
  job.priority_rank = plan.priority_rank;
  job.reason = std::move(plan.reason);
  actions->push_back(SetTraffic{job.job.id, job.paths, job.level, job.priority_rank, job.reason});
}

}  // namespace fairlead::controller
