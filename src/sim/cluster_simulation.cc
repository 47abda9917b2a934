#include "sim/cluster_simulation.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "sim/link_sharing.h"

namespace fairlead::sim {

IdVector<LinkId, double> PayloadCapacities(const topology::Fabric& fabric, const topology::LinkHealth& health,
                                           double goodput) {
  IdVector<LinkId, double> capacities(fabric.num_links());
  for (size_t i = 0; i < fabric.num_links(); ++i) {
    const LinkId link(i);
    const double share = topology::IsNetwork(fabric.tier(link)) ? goodput : 1.0;
    capacities[link] = fabric.capacity(link).value() * health[link] * share;
  }
  return capacities;
}

Seconds SoloIterationTime(const model::Iteration& iteration, const std::vector<model::Path>& paths,
                          const IdVector<LinkId, double>& capacities, Detail detail, LinkSharingFinder& finder) {
  JobState job = CreateJobState(JobId(0), 1, 1, iteration, detail, SimTime(), 1);
  job.paths = paths;
  std::vector<TransferRoute> routes;
  for (const Transfer& transfer : job.transfers) routes.push_back(ComputeRoute(job, transfer, capacities));
  JobState* const jobs[] = {&job};
  const LinkSharing sharing = finder.Find(jobs, std::span(&routes, 1), capacities);
  BinnedSum busy(SimTime(1), 1);
  ContentionDomain domain({&job}, {&routes}, sharing, capacities, SimTime(),
                          {.fast_forward = false, .samples_per_iteration = 0}, &busy);
  const std::atomic<bool> never = false;
  RunWatch watch(never, nullptr);
  domain.AdvanceTo(SimTime::Never(), watch);
  FL_CHECK_MSG(job.is_finished, "a job can't finish an iteration alone on a healthy fabric");
  return job.finish_time.seconds();
}

ClusterSimulation::ClusterSimulation(const topology::Fabric& fabric, const scheduling::PlacementPolicy& placement,
                                     const traffic::TrafficPolicy& traffic, const traffic::TrafficPolicy& solo_traffic,
                                     controller::IterationProvider iterations, std::vector<model::Job> jobs,
                                     std::vector<LinkEvent> link_events, const SimulationOptions& options)
    : fabric_(&fabric),
      traffic_(&traffic),
      solo_traffic_(&solo_traffic),
      options_(options),
      controller_(fabric, placement, traffic, std::move(iterations), options.controller),
      healthy_router_(fabric),
      healthy_capacities_(PayloadCapacities(fabric, topology::LinkHealth(fabric.num_links(), 1.0), options.goodput)),
      link_events_(std::move(link_events)),
      capacities_(healthy_capacities_),
      sharing_finder_(fabric.num_links()),
      busy_gpu_seconds_(options.end, options.num_bins),
      link_bytes_(fabric.num_links()),
      link_bins_(fabric.num_links()) {
  FL_CHECK(options.end > SimTime() && options.num_bins >= 1 && options.goodput > 0 && options.goodput <= 1);
  for (model::Job& job : jobs) {
    const JobId id = job.id;
    FL_CHECK_MSG(records_.try_emplace(id).second, "two jobs with one id");
    records_[id].job = std::move(job);
    arrivals_.push_back(id);
  }
  std::sort(arrivals_.begin(), arrivals_.end(), [this](JobId a, JobId b) {
    return std::pair(records_[a].job.arrival, a) < std::pair(records_[b].job.arrival, b);
  });
  std::stable_sort(link_events_.begin(), link_events_.end(),
                   [](const LinkEvent& a, const LinkEvent& b) { return a.time < b.time; });
}

RunResult ClusterSimulation::Run(RunWatch& watch) {
  for (;;) {
    const std::vector<controller::Event> events = TakeOutsideEvents();
    if (!events.empty()) {
      SuspendDomains();
      Apply(controller_.Handle(events));
      RebuildDomains();
    }
    const bool is_idle = running_.empty() && next_arrival_ == arrivals_.size();
    if (now_ >= options_.end || is_idle || watch.Look(now_)) break;
    AdvanceUntilFinishOr(std::min(NextOutsideEvent(), options_.end), watch);
  }
  SuspendDomains();
  return CollectResult(watch.is_stopped());
}

SimTime ClusterSimulation::NextOutsideEvent() const {
  SimTime next = SimTime::Never();
  if (next_arrival_ < arrivals_.size()) next = records_.at(arrivals_[next_arrival_]).job.arrival;
  if (next_link_event_ < link_events_.size()) next = std::min(next, link_events_[next_link_event_].time);
  return next;
}

std::vector<controller::Event> ClusterSimulation::TakeOutsideEvents() {
  std::vector<controller::Event> events;
  for (JobId job : finished_now_) events.emplace_back(controller::JobFinished{job});
  finished_now_.clear();
  if (now_ >= options_.end) return events;
  while (next_link_event_ < link_events_.size() && link_events_[next_link_event_].time <= now_) {
    const LinkEvent& event = link_events_[next_link_event_++];
    events.emplace_back(controller::LinkHealthChanged{event.link, event.health});
  }
  while (next_arrival_ < arrivals_.size() && records_[arrivals_[next_arrival_]].job.arrival <= now_) {
    events.emplace_back(controller::JobSubmitted{records_[arrivals_[next_arrival_++]].job});
  }
  return events;
}

void ClusterSimulation::Apply(std::vector<controller::Action> actions) {
  for (controller::Action& action : actions) {
    if (auto* start = std::get_if<controller::StartJob>(&action)) {
      Start(*start);
    } else if (auto* set = std::get_if<controller::SetTraffic>(&action)) {
      SetTrafficOf(std::move(*set));
    } else if (auto* reject = std::get_if<controller::RejectJob>(&action)) {
      records_[reject->job].reason = "rejected: " + reject->reason;
    }
  }
}

void ClusterSimulation::Start(const controller::StartJob& action) {
  JobRecord& record = records_[action.job];
  record.iteration = std::make_unique<model::Iteration>(controller_.iteration(action.job));
  record.solo = SoloTime(record);
  SimTime start = now_;
  if (options_.random_phase) {
    Random random(CombineHash(options_.phase_seed, action.job.value()));
    start = start + SimDuration::FromSeconds(record.solo * random.Uniform());
  }
  record.state =
      std::make_unique<JobState>(CreateJobState(action.job, record.job.num_gpus, record.job.num_iterations,
                                                *record.iteration, options_.detail, start, options_.num_bins));
  running_.insert(std::lower_bound(running_.begin(), running_.end(), action.job), action.job);
}

Seconds ClusterSimulation::SoloTime(const JobRecord& record) {
  traffic::JobView view;
  view.id = record.job.id;
  view.num_gpus = record.job.num_gpus;
  view.iteration = record.iteration.get();
  const traffic::TrafficSnapshot snapshot{.router = &healthy_router_,
                                          .jobs = std::span(&view, 1),
                                          .num_levels = options_.controller.num_levels,
                                          .hash_seed = 0,
                                          .random_seed = 0};
  const traffic::TrafficPlan plan = solo_traffic_->Plan(snapshot);
  return SoloIterationTime(*record.iteration, plan.jobs.front().paths, healthy_capacities_, options_.detail,
                           sharing_finder_);
}

void ClusterSimulation::SetTrafficOf(controller::SetTraffic action) {
  JobRecord& record = records_[action.job];
  if (record.state == nullptr) return;
  if (record.state->paths != action.paths) {
    SettleBytes(record);
    record.state->paths = std::move(action.paths);
  }
  record.state->level = action.level;
  record.priority_rank = action.priority_rank;
  record.reason = std::move(action.reason);
}

// Books the bytes sent under the paths in force, before they change or when the job ends.
void ClusterSimulation::SettleBytes(JobRecord& record) {
  JobState& job = *record.state;
  if (job.paths.empty()) return;
  if (job.is_phase_running) {
    const double fraction = job.PhaseFraction();
    BinnedSum::Spread(job.activity_since, now_, static_cast<float>(fraction - job.activity_counted),
                      job.activity[job.phase], busy_gpu_seconds_.bin_ns());
    job.activity_counted = fraction;
    job.activity_since = now_;
  }
  for (size_t t = 0; t < job.transfers.size(); ++t) {
    const Transfer& transfer = job.transfers[t];
    const double carried = job.CarriedBytes(t);
    const std::vector<float>& activity = job.activity[transfer.phase];
    for (uint32_t flow : transfer.flows) {
      for (LinkId link : job.paths[flow]) {
        link_bytes_[link] += carried;
        if (!topology::IsNetwork(fabric_->tier(link))) continue;
        std::vector<float>& bins = link_bins_[link];
        bins.resize(options_.num_bins, 0.0f);
        for (size_t b = 0; b < bins.size(); ++b) bins[b] += activity[b] * static_cast<float>(transfer.bytes);
      }
    }
    const bool is_partial = job.is_phase_running && transfer.phase == job.phase;
    job.settled_bytes[t] = is_partial ? transfer.bytes - job.remaining[t] : 0;
  }
  std::fill(job.phase_runs.begin(), job.phase_runs.end(), 0);
  for (std::vector<float>& bins : job.activity) std::fill(bins.begin(), bins.end(), 0.0f);
}

void ClusterSimulation::RebuildDomains() {
  capacities_ = PayloadCapacities(*fabric_, controller_.health(), options_.goodput);
  std::vector<JobState*> jobs;
  std::vector<std::vector<TransferRoute>> routes;
  for (JobId id : running_) {
    JobState& job = *records_[id].state;
    jobs.push_back(&job);
    routes.emplace_back();
    for (const Transfer& transfer : job.transfers) routes.back().push_back(ComputeRoute(job, transfer, capacities_));
  }
  const LinkSharing sharing = sharing_finder_.Find(jobs, routes, capacities_);
  const DomainOptions domain_options{.fast_forward = options_.fast_forward,
                                     .samples_per_iteration = options_.samples_per_iteration};
  domains_.clear();
  for (const std::vector<uint32_t>& members : sharing.domains) {
    std::vector<JobState*> domain_jobs;
    std::vector<const std::vector<TransferRoute>*> domain_routes;
    for (uint32_t j : members) {
      domain_jobs.push_back(jobs[j]);
      domain_routes.push_back(&routes[j]);
    }
    domains_.push_back(std::make_unique<ContentionDomain>(std::move(domain_jobs), domain_routes, sharing, capacities_,
                                                          now_, domain_options, &busy_gpu_seconds_));
  }
}

void ClusterSimulation::SuspendDomains() {
  for (const auto& domain : domains_) {
    domain->Suspend();
    contention_.MergeFrom(domain->contention());
  }
  domains_.clear();
}

void ClusterSimulation::AdvanceUntilFinishOr(SimTime limit, RunWatch& watch) {
  std::vector<SimTime> bounds;
  for (const auto& domain : domains_) bounds.push_back(domain->FinishLowerBound());
  SimTime reached = limit;
  for (;;) {
    // The domain that could finish a job first goes first, up to where another one could.
    size_t first = 0;
    SimTime second = limit;
    for (size_t d = 1; d < bounds.size(); ++d) {
      if (bounds[d] < bounds[first]) first = d;
    }
    if (bounds.empty() || bounds[first] > limit) break;
    for (size_t d = 0; d < bounds.size(); ++d) {
      if (d != first) second = std::min(second, bounds[d]);
    }
    ContentionDomain& domain = *domains_[first];
    domain.AdvanceTo(second, watch);
    if (domain.has_finished_job()) {
      reached = domain.now();
      break;
    }
    if (domain.now() >= limit || watch.is_stopped()) break;
    bounds[first] = domain.FinishLowerBound();
  }
  // Domains are played one after the other; each is worth its jobs of the progress up to `reached`.
  const double from = now_.seconds() / options_.end.seconds();
  const double span = (reached - now_).seconds() / options_.end.seconds();
  size_t num_jobs_done = 0;
  for (const auto& domain : domains_) {
    const auto share_of = [&](size_t num_jobs) {
      return from + span * static_cast<double>(num_jobs) / static_cast<double>(running_.size());
    };
    const size_t num_jobs = domain->jobs().size();
    watch.SetScope(now_, reached, share_of(num_jobs_done), share_of(num_jobs_done + num_jobs));
    num_jobs_done += num_jobs;
    domain->AdvanceTo(reached, watch);
  }
  if (watch.is_stopped()) {
    reached = now_;
    for (const auto& domain : domains_) reached = std::max(reached, domain->now());
  }
  now_ = reached;
  for (const auto& domain : domains_) {
    for (const JobState* job : domain->jobs()) {
      if (job->is_finished) finished_now_.push_back(job->id);
    }
  }
  std::sort(finished_now_.begin(), finished_now_.end());
  for (JobId id : finished_now_) {
    running_.erase(std::lower_bound(running_.begin(), running_.end(), id));
    SettleBytes(records_[id]);
  }
}

}  // namespace fairlead::sim
