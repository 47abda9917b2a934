#include "sim/cluster_simulation.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace fairlead::sim {
namespace {

std::vector<OutsideEvents::Instant> ArrivalsOf(const std::vector<model::Job>& jobs) {
  std::vector<OutsideEvents::Instant> arrivals;
  arrivals.reserve(jobs.size());
  for (const model::Job& job : jobs) arrivals.emplace_back(job.arrival, job.id);
  return arrivals;
}

SimDuration SpeedInterval(const SimulationOptions& options, const traffic::TrafficPolicy& traffic) {
  const SimDuration interval =
      options.speed_report_interval.value_or(traffic.NeedsSpeeds() ? traffic::kSpeedReportInterval : SimDuration());
  FL_CHECK_MSG(interval.ns() > 0 || !traffic.NeedsSpeeds(), "the policy needs speeds");
  return interval;
}

// Above those of all jobs.
JobId FirstFreeId(const std::vector<model::Job>& jobs) {
  uint32_t free = 0;
  for (const model::Job& job : jobs) free = std::max(free, job.id.value() + 1);
  return JobId(free);
}

const SimulationOptions& Checked(const SimulationOptions& options) {
  FL_CHECK(!options.dcqcn || options.dcqcn->Validate().ok());
  FL_CHECK(options.end > SimTime() && options.num_bins >= 1 && options.goodput > 0 && options.goodput <= 1);
  FL_CHECK(options.host_faults.empty() || (options.controller.allocation.policy != nullptr && options.live == nullptr));
  FL_CHECK(options.background.spec.is_empty() ||
           (options.controller.allocation.policy == nullptr && options.live == nullptr));
  FL_CHECK(options.routing_costs.IsValid());
  FL_CHECK(options.live == nullptr || options.routing_costs.detects_at_once());
  return options;
}

}  // namespace

ClusterSimulation::ClusterSimulation(const topology::Fabric& fabric, const scheduling::PlacementPolicy& placement,
                                     const traffic::TrafficPolicy& traffic,
                                     std::vector<const traffic::TrafficPolicy*> solo_policies,
                                     const controller::IterationProvider& iterations, std::vector<model::Job> jobs,
                                     std::vector<LinkEvent> link_events, const SimulationOptions& options)
    : fabric_(fabric),
      traffic_(traffic),
      options_(Checked(options)),
      first_message_(FirstFreeId(jobs)),
      outside_(ArrivalsOf(jobs), std::move(link_events)),
      detection_(fabric, options.routing_costs),
      jobs_(std::move(jobs), {.are_resized = allocates(),
                              .random_phase = options.random_phase,
                              .phase_seed = options.phase_seed,
                              .detail = options.detail,
                              .num_bins = options.num_bins}),
      healthy_(fabric, std::move(solo_policies), options.goodput,
               {.detail = options.detail,
                .num_levels = options.controller.num_levels,
                .hash_seed = options.controller.hash_seed}),
      engine_(fabric, healthy_.capacities(),
              {.end = options.end,
               .num_bins = options.num_bins,
               .fast_forward = options.fast_forward,
               .extrapolate = options.extrapolate,
               .aggregates = options.aggregate_flows,
               .dcqcn = options.dcqcn,
               .carried = &carried_,
               .recorder = options.recorder}),
      carried_(fabric, options.num_bins, engine_.busy_gpu_seconds().bin_ns()),
      in_force_(fabric,
                {.payload_share = options.goodput * options.routing_costs.efficiency,
                 .seed = options.phase_seed,
                 .reorder = options.routing_costs.reorder},
                &healthy_, &engine_, &carried_),
      background_(fabric, options_.background,
                  {.first_id = first_message_,
                   .seed = options.phase_seed,
                   .hash_seed = options.controller.hash_seed,
                   .num_bins = options.num_bins,
                   .detail = options.detail},
                  &healthy_, &engine_, &carried_, &in_force_),
      profiling_(fabric, options.profiling_window, options.profiling_window_max),
      reports_(SpeedInterval(options, traffic)),
      live_(options.live),
      care_(fabric, options.host_faults, options.host_events, options.health, options.phase_seed),
      controller_(fabric, placement, traffic, iterations, MakeControllerOptions(iterations)) {}

controller::ControllerOptions ClusterSimulation::MakeControllerOptions(
    const controller::IterationProvider& iterations) {
  controller::ControllerOptions options = options_.controller;
  if (options.allocation.policy != nullptr && !options.allocation.speeds) {
    options.allocation.speeds = controller::SpeedsOfProfiles(
        [this, iterations](const model::Job& job) { return healthy_.ProfileAlone(iterations, job); });
  }
  return options;
}

RunResult ClusterSimulation::Run(RunWatch& watch) {
  engine_.Begin(watch);
  for (;;) {
    const std::vector<controller::Event> events = TakeEvents();
    if (have_links_changed_ || !events.empty()) {
      engine_.NoteEvent();
      if (have_links_changed_) ChangeLinks(events);
      if (!events.empty()) Handle(events);
      in_force_.Wake();
    }
    const bool has_new_messages = now() < options_.end && background_.Begin();
    if (!events.empty() || engine_.has_released() || has_new_messages) {
      engine_.Rebuild(in_force_.Routed(), in_force_.capacities());
    }
    const bool is_idle = jobs_.running().empty() && controller_.num_queued() == 0 && !outside_.has_arrivals();
    if (now() >= options_.end || is_idle || watch.Look(now())) break;
    finished_ = engine_.Advance(live_.NextChange(std::min(NextEvent(), options_.end)));
    background_.End(&finished_);
    EndTransfers();
    Retire(finished_);
  }
  engine_.Finish();
  return MakeResult(watch.is_stopped());
}

// ---- What happens now ----

SimTime ClusterSimulation::NextEvent() const {
  return std::min({outside_.Next(), detection_.Next(), background_.Next(), live_.next_sample(), profiling_.end(),
                   reports_.next_speeds(), in_force_.NextLook(), controller_.next_wake_up(),
                   std::max(care_.Next(), now())});
}

std::vector<controller::Event> ClusterSimulation::TakeEvents() {
  EndHolds();
  std::vector<controller::Event> events;
  for (const JobId job : finished_) events.emplace_back(controller::JobFinished{job});
  finished_.clear();
  for (const JobId job : transferred_) events.emplace_back(controller::JobMigrated{job});
  transferred_.clear();
  if (now() >= options_.end) return events;
  if (live_.exist()) FollowLive();
  if (in_force_.NextLook() <= now()) in_force_.Look();
  if (profiling_.end() <= now()) EndProfiling(&events);
  if (reports_.next_speeds() <= now()) {
    engine_.ReleaseAll();
    reports_.ReportSpeeds(now(), jobs_, &events);
  }
  const std::span<const LinkEvent> changes = outside_.TakeLinkEvents(now());
  const std::vector<LinkEvent> known = detection_.Take(changes, now());
  have_links_changed_ = !changes.empty() || !known.empty();
  for (const LinkEvent& event : known) {
    events.emplace_back(controller::LinkHealthChanged{event.link, event.health});
  }
  for (const auto& [time, job] : outside_.TakeArrivals(now())) {
    events.emplace_back(controller::JobSubmitted{jobs_.at(job).job});
  }
  FollowHosts(&events);
  if (controller_.next_wake_up() <= now()) events.emplace_back(controller::WakeUp{});
  if (allocates() && !events.empty()) {
    engine_.ReleaseAll();
    reports_.ReportProgress(jobs_, &events);
  }
  return events;
}

// Jobs past their end give their GPUs back, wherever they are in their iteration.
void ClusterSimulation::EndHolds() {
  for (const JobId id : outside_.TakeHoldEnds(now())) {
    engine_.Release(id);
    JobState& state = *jobs_.at(id).state;
    state.is_finished = true;
    state.finish_time = now();
    finished_.push_back(id);
  }
  Retire(finished_);
}

// Counters that are due are read, and what has changed is put into force.
void ClusterSimulation::FollowLive() {
  if (live_.next_sample() <= now()) {
    engine_.ReleaseAll();
    std::vector<const JobState*> running;
    for (const JobId id : jobs_.running()) running.push_back(jobs_.at(id).state.get());
    live_.Sample(now(), running);
  }
  std::optional<std::vector<LiveJobTraffic>> changed = live_.TakeChanges(now());
  if (!changed) return;
  ControlChange change{.time_s = now().seconds().value()};
  for (LiveJobTraffic& traffic : *changed) {
    change.path_changes += traffic.num_moved;
    change.level_changes += traffic.level != jobs_.at(traffic.job).state->level ? 1 : 0;
    AdoptTraffic({.job = traffic.job,
                  .paths = std::move(traffic.paths),
                  .level = traffic.level,
                  .priority_rank = traffic.level,
                  .time_shift = {},
                  .balances_shares = false,
                  .senders = {},
                  .reason = std::move(traffic.reason)});
  }
  control_.NoteLive(change);
}

// What has finished is not the job, where that was a transfer.
void ClusterSimulation::EndTransfers() {
  const auto rest =
      std::stable_partition(finished_.begin(), finished_.end(), [&](JobId job) { return !jobs_.at(job).is_transfer; });
  transferred_.assign(rest, finished_.end());
  finished_.erase(rest, finished_.end());
}

// The window of the job under way is over: what was measured goes to the controller, or the window grows.
void ClusterSimulation::EndProfiling(std::vector<controller::Event>* events) {
  const JobId job = profiling_.job();
  engine_.Release(job);
  JobRecord& record = jobs_.at(job);
  std::optional<JobProfiling::Measured> measured = profiling_.Read(*record.state, now());
  if (!measured) return;
  events->emplace_back(controller::JobProfiled{job, std::move(measured->profile)});
  if (measured->error) record.profiling_error = measured->error;
}

// GPUs break, hosts are isolated and come back, jobs fail.
void ClusterSimulation::FollowHosts(std::vector<controller::Event>* events) {
  for (const JobId job : care_.Advance(now())) ChangeHealth(job);
  for (controller::Event& event : care_.TakeEvents()) events->push_back(std::move(event));
}

// The job goes on where it is, as its GPUs let it.
void ClusterSimulation::ChangeHealth(JobId id) {
  JobRecord& before = jobs_.at(id);
  const JobHealth health = care_.HealthOf(before.placement);
  const bool is_running = before.state != nullptr && before.state->iteration_start != SimTime::Never();
  if (!is_running) return;
  engine_.Release(id);
  JobState& state = *before.state;
  controller::SetTraffic traffic{.job = id,
                                 .paths = in_force_.PlannedPathsOf(id),
                                 .level = state.level,
                                 .priority_rank = before.priority_rank,
                                 .time_shift = state.time_shift,
                                 .balances_shares = state.shares != nullptr,
                                 .senders = state.senders,
                                 .reason = before.reason};
  const uint64_t num_lost = health.is_stuck ? IterationsSinceCheckpoint(before) : 0;
  const double lost_s = static_cast<double>(num_lost) * static_cast<double>(state.solo.iteration_ns) * 1e-9;
  const SimTime next = health.is_stuck ? SimTime::Never() : std::max(now(), state.first_start);
  CloseAccounts(before, LastIteration::kIsThrownAway);
  in_force_.Remove(id);
  state.ReleaseMemory();
  model::Iteration iteration = controller_.iteration(id);
  iteration.compute_time = iteration.compute_time * health.slowdown;
  const SoloReference solo = healthy_.yardstick().Find(id, iteration, before.job.num_gpus);
  JobRecord& record = jobs_.ChangeIteration(now(), id, iteration, solo, next, num_lost);
  reports_.Begin(id, next);
  in_force_.Add(record.state.get());
  AdoptTraffic(std::move(traffic));
  care_.NoteHealth(now(), id, lost_s * record.job.num_gpus);
}

// At the mean pace of its time on these GPUs.
uint64_t ClusterSimulation::IterationsSinceCheckpoint(const JobRecord& record) const {
  const JobState& state = *record.state;
  const SimDuration trained = now() - state.first_start;
  if (trained.ns() <= 0) return 0;
  const auto since = static_cast<double>(trained.ns() % options_.health.checkpoint_interval.ns());
  return static_cast<uint64_t>(static_cast<double>(state.iterations_done) * since / static_cast<double>(trained.ns()));
}

// Links carry what they can at once, whoever knows of it.
void ClusterSimulation::ChangeLinks(const std::vector<controller::Event>& events) {
  engine_.ReleaseAll();
  for (const controller::Event& event : events) {
    const auto* change = std::get_if<controller::LinkHealthChanged>(&event);
    if (change != nullptr) live_.SetLink(change->link, change->health > 0);
  }
  in_force_.SetHealth(detection_.health(), detection_.Unnoticed());
  background_.SetHealth(detection_.known_health());
}

// ---- What the controller wants ----

// Lets the controller react, and writes down what that changed.
void ClusterSimulation::Handle(const std::vector<controller::Event>& events) {
  const controller::ControlCounters before = controller_.counters();
  std::vector<controller::Action> actions = controller_.Handle(events, now());
  control_.NotePlan(now(), events, actions, before, controller_.counters());
  Apply(std::move(actions));
}

void ClusterSimulation::Apply(std::vector<controller::Action> actions) {
  JobId to_profile;
  for (controller::Action& action : actions) {
    if (const auto* start = std::get_if<controller::StartJob>(&action)) {
      Start(*start);
    } else if (const auto* stop = std::get_if<controller::SuspendJob>(&action)) {
      Stop(*stop);
    } else if (const auto* migrate = std::get_if<controller::MigrateJob>(&action)) {
      Migrate(*migrate);
    } else if (const auto* resume = std::get_if<controller::ResumeJob>(&action)) {
      Resume(*resume);
    } else if (auto* set = std::get_if<controller::SetTraffic>(&action)) {
      SetTraffic(std::move(*set));
    } else if (const auto* profile = std::get_if<controller::StartProfiling>(&action)) {
      to_profile = profile->job;
    } else if (const auto* reject = std::get_if<controller::RejectJob>(&action)) {
      jobs_.at(reject->job).reason = "rejected: " + reject->reason;
    }
  }
  if (to_profile.valid()) StartProfiling(to_profile);  // when it has its paths
}

void ClusterSimulation::Start(const controller::StartJob& action) {
  const model::Iteration& iteration = controller_.iteration(action.job);
  const auto num_gpus = static_cast<uint32_t>(action.placement.gpus.size());
  const SoloReference solo = healthy_.yardstick().Find(action.job, iteration, num_gpus);
  const JobRecord& record = jobs_.Start(now(), action, iteration, solo);
  reports_.Begin(action.job, record.state->first_start);
  in_force_.Add(record.state.get());
  care_.Begin(now(), {.id = action.job,
                      .placement = action.placement,
                      .first_start = record.state->first_start,
                      .iteration_time = Seconds(static_cast<double>(solo.iteration_ns) * 1e-9),
                      .compute_time = iteration.compute_time});
  background_.BeginJob(action.job, action.placement, record.state->first_start);
  if (record.hold_end < SimTime::Never()) outside_.AddHoldEnd(record.hold_end, action.job);
}

void ClusterSimulation::Stop(const controller::SuspendJob& action) {
  engine_.Release(action.job);
  jobs_.Leave(action.job);
  care_.End(now(), action.job, false);
  Retire(jobs_.at(action.job), LastIteration::kIsThrownAway);
  jobs_.Suspend(now(), action);
}

// Where nothing is transferred, Resume() follows.
void ClusterSimulation::Migrate(const controller::MigrateJob& action) {
  EndStretch(action.job);
  background_.EndJob(action.job);
  JobRecord& record = jobs_.at(action.job);
  record.placement = action.placement;
  record.moves.push_back({now().seconds().value(), action.num_moved_gpus, action.reason});
  if (!options_.controller.migration.worker_state) return;
  BeginStretch(action.job, now());
  record.is_transfer = true;
  record.state->num_iterations = 1;
}

void ClusterSimulation::Resume(const controller::ResumeJob& action) {
  if (jobs_.at(action.job).state != nullptr) EndStretch(action.job);
  BeginStretch(action.job, now() + action.after);
  background_.BeginJob(action.job, jobs_.at(action.job).placement, now() + action.after);
}

// With the iteration that the controller has for the job.
void ClusterSimulation::BeginStretch(JobId job, SimTime start) {
  const model::Iteration& iteration = controller_.iteration(job);
  const SoloReference solo = healthy_.yardstick().Find(job, iteration, jobs_.at(job).job.num_gpus);
  JobRecord& record = jobs_.Continue(now(), job, iteration, solo, start);
  reports_.Begin(job, start);
  in_force_.Add(record.state.get());
}

void ClusterSimulation::EndStretch(JobId job) {
  engine_.Release(job);
  JobRecord& record = jobs_.at(job);
  CloseAccounts(record, LastIteration::kIsThrownAway);
  in_force_.Remove(job);
  record.state->ReleaseMemory();
  jobs_.EndStretch(job);
}

void ClusterSimulation::SetTraffic(controller::SetTraffic action) {
  if (!live_.exist()) return AdoptTraffic(std::move(action));
  const JobId job = action.job;
  if (live_.Contains(job)) return;
  // The plan of the policy is where flows go until their connections are open. Sockets that nobody has given a class
  // have that of the last level.
  action.level = options_.controller.num_levels - 1;
  action.priority_rank = action.level;
  action.reason = "opens its connections";
  AdoptTraffic(std::move(action));
  live_.Start(jobs_.at(job));
}

void ClusterSimulation::AdoptTraffic(controller::SetTraffic action) {
  JobRecord& record = jobs_.at(action.job);
  record.priority_rank = action.priority_rank;
  record.reason = std::move(action.reason);
  in_force_.Adopt(std::move(action));
}

void ClusterSimulation::StartProfiling(JobId job) {
  engine_.Release(job);
  profiling_.Begin(jobs_.at(job).state.get(), in_force_.RoutesOf(job), now());
}

// ---- Ends ----

void ClusterSimulation::Retire(const std::vector<JobId>& jobs) {
  for (const JobId id : jobs) {
    if (!jobs_.Leave(id)) continue;
    care_.End(now(), id, true);
    Retire(jobs_.at(id), LastIteration::kCounts);
  }
}

void ClusterSimulation::Retire(JobRecord& record, LastIteration last) {
  const JobId job = record.job.id;
  profiling_.Cancel(job);
  background_.EndJob(job);
  live_.End(job);
  CloseAccounts(record, last);
  if (!record.state->paths.empty()) record.gpu_intensity = IntensityOf(record);
  outside_.RemoveHoldEnd(record.hold_end, job);
  in_force_.Remove(job);
  record.state->ReleaseMemory();
  record.iteration.reset();
}

void ClusterSimulation::CloseAccounts(JobRecord& record, LastIteration last) {
  JobState& state = *record.state;
  if (state.first_start == SimTime::Never()) state.observed_until = now();  // nothing simulates a stuck job
  carried_.Settle(state, now());
  CloseAccount({.routes = in_force_.RoutesOf(record.job.id),
                .restarted_at = allocates() || !record.past.empty() ? std::optional(record.held_from) : std::nullopt,
                .last = record.is_transfer ? LastIteration::kWasTransfer : last},
               state, engine_.delays());
}

// On its paths in force, all links healthy.
double ClusterSimulation::IntensityOf(const JobRecord& record) {
  return healthy_.IntensityOf(record.job.id, *record.iteration, in_force_.PlannedPathsOf(record.job.id));
}

RunResult ClusterSimulation::MakeResult(bool partial) {
  for (const JobId id : jobs_.running()) {
    JobRecord& record = jobs_.at(id);
    CloseAccounts(record, LastIteration::kCounts);
    record.gpu_intensity = IntensityOf(record);
  }
  RunResult result;
  result.policy = std::string(traffic_.name());
  if (allocates()) result.allocation = std::string(options_.controller.allocation.policy->name());
  result.seed = options_.controller.hash_seed;
  result.partial = partial;
  result.simulated_s = now().seconds().value();
  const controller::ControlCounters& counters = live_.exist() ? control_.live_counters() : controller_.counters();
  result.path_changes = counters.path_changes;
  result.level_changes = counters.level_changes;
  result.num_plans = counters.plans;
  result.control = control_.Take();
  const topology::LinkHealth& health = detection_.health();
  for (size_t i = 0; i < fabric_.num_links(); ++i) {
    if (health[LinkId(i)] < 1) result.unwell_links.emplace_back(LinkId(i), health[LinkId(i)]);
  }
  if (care_.exists()) result.health = care_.Result(now());
  result.background = background_.Finish();
  if (options_.controller.migration.policy != nullptr) {
    const controller::MigrationCounters& migrations = controller_.migrations();
    result.migration = {.num_plans = migrations.num_plans,
                        .num_unrelieved = migrations.num_unrelieved,
                        .moved_jobs = migrations.moved_jobs,
                        .moved_gpus = migrations.moved_gpus};
  }
  if (controller_.ChoosesPlacements()) result.placement_choices = controller_.placements();
  CollectResult({.fabric = fabric_,
                 .jobs = jobs_.all(),
                 .running = jobs_.running(),
                 .delays = engine_.delays(),
                 .busy_gpu_seconds = engine_.busy_gpu_seconds(),
                 .carried = carried_.carried(),
                 .end = now(),
                 .num_bins = options_.num_bins,
                 .num_hottest_links = options_.num_hottest_links,
                 .allocates = allocates(),
                 .queues = engine_.queues(),
                 .migrates = options_.controller.migration.policy != nullptr},
                &result);
  return result;
}

}  // namespace fairlead::sim
