#include "sim/cluster_simulation.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "sim/link_sharing.h"
#include "traffic/gpu_intensity.h"
#include "traffic/path_bundle.h"

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

namespace {

std::optional<CongestionPoints> MakeCongestionPoints(const topology::Fabric& fabric, const SimulationOptions& options) {
  if (!options.dcqcn) return std::nullopt;
  return CongestionPoints(FindMarkingLinks(fabric), *options.dcqcn);
}

std::vector<OutsideEvents::Instant> ArrivalsOf(const std::vector<model::Job>& jobs) {
  std::vector<OutsideEvents::Instant> arrivals;
  arrivals.reserve(jobs.size());
  for (const model::Job& job : jobs) arrivals.emplace_back(job.arrival, job.id);
  return arrivals;
}

ProfilingError CompareWithTruth(const model::MeasuredProfile& measured, const JobState& state,
                                const agent::WindowCounters& counters) {
  // The mean iteration in the window, from what the counters counted: whole iterations and parts alike.
  const double iterations = counters.flop / state.iteration->work;
  double true_bytes = 0, measured_bytes = 0;
  for (size_t f = 0; f < counters.flow_bytes.size(); ++f) {
    if (counters.flow_bytes[f].value() <= 0) continue;
    true_bytes += state.iteration->flows[f].bytes.value();
    measured_bytes += measured.flow_bytes[f].value();
  }
  return {.window_s = counters.length.value(),
          .iteration_time = measured.iteration_time.value() * iterations / counters.length.value() - 1,
          .work = measured.work / state.iteration->work - 1,
          .bytes = measured_bytes / true_bytes - 1};
}

}  // namespace

ClusterSimulation::ClusterSimulation(const topology::Fabric& fabric, const scheduling::PlacementPolicy& placement,
                                     const traffic::TrafficPolicy& traffic,
                                     std::vector<const traffic::TrafficPolicy*> solo_policies,
                                     controller::IterationProvider iterations, std::vector<model::Job> jobs,
                                     std::vector<LinkEvent> link_events, const SimulationOptions& options)
    : fabric_(&fabric),
      traffic_(&traffic),
      options_(options),
      healthy_router_(fabric),
      healthy_capacities_(PayloadCapacities(fabric, topology::LinkHealth(fabric.num_links(), 1.0), options.goodput)),
      outside_(ArrivalsOf(jobs), std::move(link_events)),
      capacities_(PayloadCapacities(fabric, topology::LinkHealth(fabric.num_links(), 1.0),
                                    options.goodput * options.routing_efficiency)),
      yardstick_(healthy_router_, std::move(solo_policies), healthy_capacities_,
                 {.detail = options.detail,
                  .num_levels = options.controller.num_levels,
                  .hash_seed = options.controller.hash_seed}),
      healthy_links_(traffic::MakeLinkTable({.router = &healthy_router_, .jobs = {}})),
      meter_(healthy_links_),
      busy_gpu_seconds_(options.end, options.num_bins),
      congestion_points_(MakeCongestionPoints(fabric, options)),
      domains_(fabric.num_links(),
               {.fast_forward = options.fast_forward,
                .extrapolate = options.extrapolate,
                .follows_delays = true,
                .healthy_capacities = &healthy_capacities_,
                .congestion = congestion_points_ ? &*congestion_points_ : nullptr,
                .recorder = options.recorder},
               &busy_gpu_seconds_, &delays_),
      carried_{IdVector<LinkId, double>(fabric.num_links()), IdVector<LinkId, std::vector<float>>(fabric.num_links())} {
  options_.controller.allocation = MakeAllocationOptions(iterations);
  controller_.emplace(fabric, placement, traffic, std::move(iterations), options_.controller);
  speed_report_interval_ =
      options.speed_report_interval.value_or(traffic.NeedsSpeeds() ? traffic::kSpeedReportInterval : SimDuration());
  FL_CHECK_MSG(speed_report_interval_.ns() > 0 || !traffic.NeedsSpeeds(), "the policy needs speeds");
  if (speed_report_interval_.ns() > 0) next_speed_report_ = SimTime() + speed_report_interval_;
  FL_CHECK(!options.dcqcn || options.dcqcn->Validate().ok());
  FL_CHECK(options.end > SimTime() && options.num_bins >= 1 && options.goodput > 0 && options.goodput <= 1);
  FL_CHECK(options.routing_efficiency > 0 && options.routing_efficiency <= 1);
  for (model::Job& job : jobs) {
    const JobId id = job.id;
    FL_CHECK_MSG(records_.try_emplace(id).second, "two jobs with one id");
    records_[id].job = std::move(job);
  }
}

RunResult ClusterSimulation::Run(RunWatch& watch) {
  for (;;) {
    const std::vector<controller::Event> events = TakeOutsideEvents(watch);
    if (!events.empty()) {
      last_event_ = now_;
      UpdateCapacities(events, watch);
      Handle(events, watch);
      WakeShares();
    }
    if (!events.empty() || domains_.has_released()) RebuildDomains(watch);
    const bool is_idle = running_.empty() && controller_->num_queued() == 0 && !outside_.has_arrivals();
    if (now_ >= options_.end || is_idle || watch.Look(now_)) break;
    AdvanceUntilFinishOr(NextLiveChange(std::min(NextOutsideEvent(), options_.end)), watch);
  }
  const SimTime reached = domains_.ReleaseAll(now_, FractionAt(now_), watch);
  if (watch.is_stopped()) now_ = std::max(reached, last_event_);
  return MakeResult(watch.is_stopped());
}

SimTime ClusterSimulation::NextOutsideEvent() const {
  SimTime next = outside_.Next();
  if (options_.live != nullptr) next = std::min(next, options_.live->next_sample());
  return std::min({next, profiling_end_, next_speed_report_, NextShareLook(), controller_->next_wake_up()});
}

std::vector<controller::Event> ClusterSimulation::TakeOutsideEvents(RunWatch& watch) {
  EndHolds(watch);
  std::vector<controller::Event> events;
  for (JobId job : finished_now_) events.emplace_back(controller::JobFinished{job});
  finished_now_.clear();
  if (now_ >= options_.end) return events;
  if (options_.live != nullptr) FollowLive(watch);
  if (NextShareLook() <= now_) LookAtShares(watch);
  if (profiling_end_ <= now_) EndProfiling(watch, &events);
  if (next_speed_report_ <= now_) ReportSpeeds(watch, &events);
  for (const LinkEvent& event : outside_.TakeLinkEvents(now_)) {
    events.emplace_back(controller::LinkHealthChanged{event.link, event.health});
  }
  for (const auto& [time, job] : outside_.TakeArrivals(now_)) {
    events.emplace_back(controller::JobSubmitted{records_.at(job).job});
  }
  if (controller_->next_wake_up() <= now_) events.emplace_back(controller::WakeUp{});
  if (allocates() && !events.empty()) ReportProgress(watch, &events);
  return events;
}

// Jobs past their end give their GPUs back, wherever they are in their iteration.
void ClusterSimulation::EndHolds(RunWatch& watch) {
  for (const JobId id : outside_.TakeHoldEnds(now_)) {
    domains_.Release(id, now_, watch);
    JobState& state = *records_[id].state;
    state.is_finished = true;
    state.finish_time = now_;
    finished_now_.push_back(id);
  }
  RetireFinishedJobs();
}

// Lets the controller react, and writes down what that changed.
void ClusterSimulation::Handle(const std::vector<controller::Event>& events, RunWatch& watch) {
  const controller::ControlCounters before = controller_->counters();
  std::vector<controller::Action> actions = controller_->Handle(events, now_);
  ControlChange change{.time_s = now_.seconds().value(),
                       .path_changes = controller_->counters().path_changes - before.path_changes,
                       .level_changes = controller_->counters().level_changes - before.level_changes};
  if (change.path_changes + change.level_changes > 0) {
    for (const controller::Event& event : events) {
      change.jobs_ended += std::holds_alternative<controller::JobFinished>(event);
      change.links_changed += std::holds_alternative<controller::LinkHealthChanged>(event);
    }
    for (const controller::Action& action : actions) {
      change.jobs_started += std::holds_alternative<controller::StartJob>(action);
    }
    control_.push_back(change);
  }
  Apply(std::move(actions), watch);
}

void ClusterSimulation::Apply(std::vector<controller::Action> actions, RunWatch& watch) {
  JobId to_profile;
  for (controller::Action& action : actions) {
    if (auto* start = std::get_if<controller::StartJob>(&action)) {
      Start(*start);
    } else if (const auto* stop = std::get_if<controller::SuspendJob>(&action)) {
      Stop(*stop, watch);
    } else if (auto* set = std::get_if<controller::SetTraffic>(&action)) {
      SetTrafficOf(std::move(*set), watch);
    } else if (auto* profile = std::get_if<controller::StartProfiling>(&action)) {
      to_profile = profile->job;
    } else if (auto* reject = std::get_if<controller::RejectJob>(&action)) {
      records_[reject->job].reason = "rejected: " + reject->reason;
    }
  }
  if (to_profile.valid()) StartProfiling(to_profile, watch);  // when it has its paths
}

void ClusterSimulation::StartProfiling(JobId job, RunWatch& watch) {
  domains_.Release(job, now_, watch);
  JobRecord& record = records_[job];
  const SimTime from = std::max(now_, record.state->iteration_start);
  profiling_ = std::make_unique<ProfilingWindow>(record.state.get(), record.routes, *fabric_, from);
  profiling_end_ = from + options_.profiling_window;
}

// The window of the job under way is over: what was measured goes to the controller, or the window grows.
void ClusterSimulation::EndProfiling(RunWatch& watch, std::vector<controller::Event>* events) {
  const JobId job = profiling_->job();
  domains_.Release(job, now_, watch);
  JobRecord& record = records_[job];
  const agent::WindowCounters counters = profiling_->Read(now_);
  const bool is_silent = agent::IsSilent(counters);
  const auto measured = is_silent ? agent::WholeWindowProfile(counters) : agent::MeasureProfile(counters);
  if (!measured && now_ - profiling_->from() < options_.profiling_window_max) {
    profiling_end_ = now_ + (now_ - profiling_->from());
    return;
  }
  // A job without a visible period counts as one long iteration.
  events->emplace_back(controller::JobProfiled{job, measured ? *measured : agent::WholeWindowProfile(counters)});
  if (measured && !is_silent) {
    record.profiling_error = CompareWithTruth(*measured, *record.state, counters);
  }
  profiling_.reset();
  profiling_end_ = SimTime::Never();
}

// How fast each job computed since the last report, against its speed alone, and how far it is behind.
void ClusterSimulation::ReportSpeeds(RunWatch& watch, std::vector<controller::Event>* events) {
  next_speed_report_ = now_ + speed_report_interval_;
  domains_.ReleaseAll(now_, FractionAt(now_), watch);
  for (const JobId id : running_) {
    JobRecord& record = records_[id];
    const JobState& state = *record.state;
    const double progress_s = state.Work(now_) * static_cast<double>(state.solo.iteration_ns) * 1e-9;
    const double span_s = std::min((now_ - state.first_start).seconds(), speed_report_interval_.seconds()).value();
    if (span_s <= 0) continue;
    const double speed = std::clamp((progress_s - record.progress_reported_s) / span_s, 0.0, 1.0);
    record.progress_reported_s = progress_s;
    record.starved_for += Seconds(span_s * (1 - speed / traffic::kStarvedBelow));
    record.starved_for = std::max(record.starved_for, Seconds(0));
    events->emplace_back(controller::JobSpeedMeasured{id, speed, record.starved_for});
  }
}

SimTime ClusterSimulation::NextShareLook() const {
  SimTime next = SimTime::Never();
  if (num_balanced_ == 0) return next;
  for (const JobId id : running_) {
    const JobRecord& record = records_.at(id);
    if (record.shares != nullptr) next = std::min(next, record.shares->next_look());
  }
  return next;
}

// Queue pairs of the jobs that are due shift bytes among themselves.
void ClusterSimulation::LookAtShares(RunWatch& watch) {
  for (const JobId id : running_) {
    JobRecord& record = records_[id];
    if (record.shares == nullptr || record.shares->next_look() > now_) continue;
    domains_.Release(id, now_, watch);
    SettleBytes(record);
    if (!record.shares->Look(now_)) continue;
    model::Iteration shared = *record.iteration;
    for (const Transfer& transfer : record.state->transfers) {
      for (const uint32_t flow : transfer.flows) shared.flows[flow].bytes = Bytes(transfer.bytes);
    }
    LowerYardstick(record, shared);
    record.routes = ComputeRoutes(*record.state, capacities_);
    record.demand = ComputeDemand(*record.state, record.routes);
  }
}

void ClusterSimulation::WakeShares() {
  if (num_balanced_ == 0) return;
  for (const JobId id : running_) {
    if (records_[id].shares != nullptr) records_[id].shares->Wake(now_);
  }
}

void ClusterSimulation::Start(const controller::StartJob& action) {
  JobRecord& record = records_[action.job];
  record.iteration = std::make_unique<model::Iteration>(controller_->iteration(action.job));
  record.placement = action.placement;
  record.work = record.iteration->work;
  const SoloReference solo =
      yardstick_.Find(action.job, *record.iteration, static_cast<uint32_t>(action.placement.gpus.size()));
  record.held_from = now_;
  SimTime start = now_;
  uint64_t num_iterations = record.job.num_iterations;
  if (allocates()) {
    start = start + record.job.elasticity.restart_cost;
    num_iterations -= record.past_iterations;
    record.job.num_gpus = static_cast<uint32_t>(action.placement.gpus.size());
    record.sizes.push_back({now_.seconds().value(), record.job.num_gpus, action.reason});
    record.progress_reported_s = 0;
    record.starved_for = Seconds(0);
  }
  if (options_.random_phase) {
    Random random(CombineHash(options_.phase_seed, action.job.value() + (uint64_t{record.past.size()} << 32)));
    start = start + SimDuration::FromSeconds(SimDuration(solo.iteration_ns).seconds() * random.Uniform());
  }
  record.state = std::make_unique<JobState>(CreateJobState(
      action.job, record.job.num_gpus, num_iterations, *record.iteration, options_.detail, start, options_.num_bins));
  record.state->solo = solo;
  record.state->observed_until = now_;
  record.reported_iterations = 0;
  record.reported_iteration_end = start;
  running_.insert(std::lower_bound(running_.begin(), running_.end(), action.job), action.job);
  record.hold_end = record.job.hold_time.ns() > 0 ? now_ + record.job.hold_time : SimTime::Never();
  if (record.hold_end < SimTime::Never()) outside_.AddHoldEnd(record.hold_end, action.job);
}

// The job continues later, or immediately on other GPUs, with the iteration that was under way.
void ClusterSimulation::Stop(const controller::SuspendJob& action, RunWatch& watch) {
  JobRecord& record = records_[action.job];
  domains_.Release(action.job, now_, watch);
  running_.erase(std::lower_bound(running_.begin(), running_.end(), action.job));
  RetireJob(record, LastIteration::kIsThrownAway);
  record.past_iterations += record.state->iterations_done;
  record.sizes.push_back({now_.seconds().value(), 0, action.reason});
  record.past.push_back({std::move(record.state), record.work, record.held_from});
}

// How far the running jobs have come, and how long their iterations took since the last report.
void ClusterSimulation::ReportProgress(RunWatch& watch, std::vector<controller::Event>* events) {
  domains_.ReleaseAll(now_, FractionAt(now_), watch);
  for (const JobId id : running_) {
    JobRecord& record = records_[id];
    const JobState& state = *record.state;
    const uint64_t ended = state.iterations_done - record.reported_iterations;
    const Seconds took = (state.last_iteration_end - record.reported_iteration_end).seconds();
    controller::JobProgressed progress{
        .job = id,
        .iterations_done = static_cast<double>(record.past_iterations + state.iterations_done),
        .iteration_time = Seconds(0),
        .measured_for = took};
    if (ended > 0) progress.iteration_time = took / static_cast<double>(ended);
    record.reported_iterations = state.iterations_done;
    record.reported_iteration_end = state.last_iteration_end;
    events->emplace_back(progress);
  }
}

controller::AllocationOptions ClusterSimulation::MakeAllocationOptions(
    const controller::IterationProvider& iterations) {
  controller::AllocationOptions allocation = options_.controller.allocation;
  if (allocation.policy != nullptr && !allocation.speeds) {
    allocation.speeds = controller::SpeedsOfProfiles(
        [this, iterations](const model::Job& job) { return ProfileAlone(iterations, job); });
  }
  return allocation;
}

// Each size of the job alone on the empty fabric, on as few hosts as possible.
Result<std::vector<prediction::SpeedPoint>> ClusterSimulation::ProfileAlone(
    const controller::IterationProvider& iterations, const model::Job& job) {
  std::vector<prediction::SpeedPoint> profile;
  model::Placement placement;  // grows from size to size
  uint32_t num_hosts = 0;
  for (const uint32_t gpus : controller::UsableSizes(job, fabric_->num_gpus())) {
    while (placement.gpus.size() < gpus) {
      const HostId host(num_hosts++);
      for (uint32_t g = 0; g < fabric_->num_gpus_of(host); ++g) {
        placement.gpus.emplace_back(fabric_->first_gpu(host).value() + g);
      }
    }
    model::Job sized = job;
    sized.num_gpus = gpus;
    const model::Placement part{{placement.gpus.begin(), placement.gpus.begin() + gpus}};
    FL_ASSIGN_OR_RETURN(model::Iteration iteration, iterations(sized, part));
    const auto alone = [&](const model::Iteration& simulated) {
      return SimDuration(yardstick_.Find(job.id, simulated, gpus).iteration_ns).seconds();
    };
    prediction::SpeedPoint point;
    point.num_gpus = gpus;
    point.num_hosts = static_cast<uint32_t>(fabric_->host_of(part.gpus.back()).index()) + 1;
    point.iteration = alone(iteration);
    point.compute = iteration.compute_time + iteration.bubble_time;
    iteration.compute_time = iteration.bubble_time = Seconds(0);
    if (point.num_hosts > 1 && !iteration.flows.empty()) point.network = alone(iteration);
    profile.push_back(point);
  }
  return profile;
}

// On its paths an iteration may be faster alone than thought. The progress of the job until now is then measured again:
// its earlier paths have cost it the difference.
void ClusterSimulation::LowerYardstick(JobRecord& record, const model::Iteration& iteration) {
  JobState& job = *record.state;
  const int64_t whole_before_ns = job.solo.iteration_ns;
  const int64_t left_before_ns = job.SoloNsLeft(now_);
  const int64_t left_at_start_ns = job.solo_left_at_start_ns;
  if (!yardstick_.Lower(iteration, job.paths, &job.solo)) return;
  job.solo_left_at_start_ns = std::numeric_limits<int64_t>::min() / 2;  // a new start of the phase, as it were
  const int64_t left_ns = job.SoloNsLeft(now_);
  job.solo_left_at_start_ns = left_at_start_ns + left_ns - left_before_ns;
  const double ended = static_cast<double>(job.iterations_done) + job.iteration_carry;
  const double cheaper_ns = static_cast<double>(whole_before_ns - job.solo.iteration_ns);
  const double open_ns = static_cast<double>((whole_before_ns - left_before_ns) - (job.solo.iteration_ns - left_ns));
  const double more_s = (ended * cheaper_ns + open_ns) * 1e-9;
  // A phase that hides behind compute alone may have been waited for in the open iteration, which then counts for more.
  if (more_s < 0) delays_.AttributeMore(job, more_s);
  delays_.Attribute(job, LossCause::kSelf, more_s);
}

void ClusterSimulation::SetTrafficOf(controller::SetTraffic action, RunWatch& watch) {
  JobRecord& record = records_[action.job];
  if (options_.live == nullptr) return AdoptTraffic(std::move(action), watch);
  if (!record.is_live) StartLive(record, std::move(action), watch);
}

void ClusterSimulation::AdoptTraffic(controller::SetTraffic action, RunWatch& watch) {
  JobRecord& record = records_[action.job];
  record.priority_rank = action.priority_rank;
  record.reason = std::move(action.reason);
  JobState& state = *record.state;
  if (state.paths != action.paths) {
    domains_.Release(action.job, now_, watch);
    SettleBytes(record);
    state.paths = std::move(action.paths);
    LowerYardstick(record, *record.iteration);
    record.routes = ComputeRoutes(state, capacities_);
    record.demand = ComputeDemand(state, record.routes);
  }
  if (state.time_shift != action.time_shift) {
    domains_.Release(action.job, now_, watch);
    state.time_shift = action.time_shift;
    state.shift_progress = {};
    // What it waits for is no longer true.
    if (std::exchange(state.waits_for_shift, false)) state.iteration_start = now_;
  }
  state.level = action.level;
  const bool balances = action.balances_shares && QueuePairShares::HasSomethingToDo(*state.iteration);
  if (balances == (record.shares != nullptr)) return;
  domains_.Release(action.job, now_, watch);
  record.shares = balances ? std::make_unique<QueuePairShares>(&state, options_.phase_seed) : nullptr;
  state.shares = record.shares.get();
  state.part_bytes.assign(balances ? state.transfers.size() : 0, 0);
  num_balanced_ += balances ? 1 : -1;
}

// Changing links affect all jobs: failures are rare.
void ClusterSimulation::UpdateCapacities(const std::vector<controller::Event>& events, RunWatch& watch) {
  const bool any = std::any_of(events.begin(), events.end(), [](const controller::Event& event) {
    return std::holds_alternative<controller::LinkHealthChanged>(event);
  });
  if (!any) return;
  domains_.ReleaseAll(now_, FractionAt(now_), watch);
  topology::LinkHealth health = controller_->health();
  for (const controller::Event& event : events) {
    const auto* change = std::get_if<controller::LinkHealthChanged>(&event);
    if (change == nullptr) continue;
    health[change->link] = change->health;
    if (options_.live != nullptr) options_.live->SetLink(change->link, change->health > 0);
  }
  capacities_ = PayloadCapacities(*fabric_, health, options_.goodput * options_.routing_efficiency);
  for (const JobId id : running_) {
    JobRecord& record = records_[id];
    record.routes = ComputeRoutes(*record.state, capacities_);
    record.demand = ComputeDemand(*record.state, record.routes);
  }
}

// Books the bytes sent under the paths in force, before they change or when the job ends.
void ClusterSimulation::SettleBytes(JobRecord& record) {
  JobState& job = *record.state;
  if (job.paths.empty() || now_ < job.settled_at) return;  // it has not begun
  if (job.is_phase_running) {
    const double fraction = job.SlowestFraction();
    BinnedSum::Spread(job.activity_since, now_, static_cast<float>(fraction - job.activity_counted),
                      job.activity[job.phase], busy_gpu_seconds_.bin_ns());
    job.activity_counted = fraction;
    job.activity_since = now_;
  }
  // Nothing was sent before the paths were set, or after now.
  const auto bin_of = [this](SimTime t) {
    return std::min(static_cast<size_t>(t.ns() / busy_gpu_seconds_.bin_ns()), size_t{options_.num_bins} - 1);
  };
  const size_t first_bin = bin_of(job.settled_at);
  const size_t last_bin = bin_of(now_);
  for (size_t t = 0; t < job.transfers.size(); ++t) {
    const Transfer& transfer = job.transfers[t];
    const double carried = job.CarriedBytes(t);
    job.sent_before[t] += carried;
    const std::vector<float>& activity = job.activity[transfer.phase];
    // Of a phase under way this transfer may have done more or less than the others: the bins share out what it did.
    const float all = std::accumulate(activity.begin() + static_cast<ptrdiff_t>(first_bin),
                                      activity.begin() + static_cast<ptrdiff_t>(last_bin) + 1, 0.0f);
    const float per_activity = all > 0 ? static_cast<float>(carried) / all : 0;
    for (uint32_t flow : transfer.flows) {
      const uint32_t parts = traffic::NumParts(job.paths[flow]);
      for (LinkId link : job.paths[flow]) {
        carried_.total[link] += carried / parts;
        if (!topology::IsNetwork(fabric_->tier(link))) continue;
        std::vector<float>& bins = carried_.bins[link];
        bins.resize(options_.num_bins, 0.0f);
        for (size_t b = first_bin; b <= last_bin; ++b)
          bins[b] += activity[b] * per_activity / static_cast<float>(parts);
      }
    }
    const bool is_partial = job.is_phase_running && transfer.phase == job.phase;
    job.settled_bytes[t] = is_partial ? transfer.bytes - job.remaining[t] : 0;
  }
  std::fill(job.phase_runs.begin(), job.phase_runs.end(), 0);
  for (std::vector<float>& bins : job.activity) std::fill(bins.begin(), bins.end(), 0.0f);
  job.settled_at = now_;
}

void ClusterSimulation::RebuildDomains(RunWatch& watch) {
  if (watch.is_stopped()) return;  // domains may have been left at different instants
  std::vector<RoutedJob> routed;
  routed.reserve(running_.size());
  for (const JobId id : running_) {
    const JobRecord& record = records_[id];
    routed.push_back({record.state.get(), &record.routes, &record.demand});
  }
  domains_.Rebuild(routed, capacities_, now_, watch);
}

void ClusterSimulation::AdvanceUntilFinishOr(SimTime limit, RunWatch& watch) {
  watch.SetScope(now_, limit, FractionAt(now_), FractionAt(limit));
  now_ = domains_.AdvanceUntilFinishOr(limit, watch);
  finished_now_ = domains_.FinishedJobs();
  for (const JobId id : finished_now_) domains_.Release(id, now_, watch);
  RetireFinishedJobs();
}

void ClusterSimulation::RetireFinishedJobs() {
  for (const JobId id : finished_now_) {
    const auto place = std::lower_bound(running_.begin(), running_.end(), id);
    if (place == running_.end() || *place != id) continue;
    running_.erase(place);
    RetireJob(records_[id], LastIteration::kCounts);
  }
}

// Of a job that has ended only what the result needs is kept.
void ClusterSimulation::RetireJob(JobRecord& record, LastIteration last) {
  if (profiling_ != nullptr && profiling_->job() == record.job.id) {
    profiling_.reset();
    profiling_end_ = SimTime::Never();
  }
  if (std::exchange(record.is_live, false)) options_.live->End(record.job.id);
  SettleBytes(record);
  if (!record.state->paths.empty()) record.gpu_intensity = IntensityOf(record);
  outside_.RemoveHoldEnd(record.hold_end, record.job.id);
  num_balanced_ -= record.shares != nullptr ? 1 : 0;
  record.shares.reset();
  CloseAccount(record, last);
  record.state->ReleaseMemory();
  record.routes = {};
  record.demand = {};
  record.iteration.reset();
}

// Books what a job that is at its end, or at the end of the run, has lost since its last phase ended.
void ClusterSimulation::CloseAccount(JobRecord& record, LastIteration last) {
  JobState& job = *record.state;
  const SimTime end = job.is_finished ? job.finish_time : job.observed_until;
  if (allocates()) {
    delays_.Attribute(job, LossCause::kRestart, (std::min(end, job.first_start) - record.held_from).seconds().value());
  }
  if (end <= job.first_start) return;
  job.open_work = job.Work(end) - static_cast<double>(job.iterations_done);
  if (job.num_iterations > 0) {
    // It has done no more than it had to do, whatever extrapolation still owes it.
    const auto most = static_cast<double>(job.num_iterations - job.iterations_done);
    const double too_much = std::max(0.0, job.open_work - most);
    if (too_much > 0) delays_.AttributeMore(job, too_much * static_cast<double>(job.solo.iteration_ns) * 1e-9);
    job.open_work -= too_much;
  }
  for (size_t t = 0; t < job.transfers.size(); ++t) {
    const bool is_waited_for = job.is_phase_running && job.transfers[t].phase == job.phase && job.remaining[t] > 0;
    job.is_cut_off |= is_waited_for && record.routes[t].top_rate <= 0;
  }
  if (job.is_phase_running) {
    delays_.RecordPhase(job, static_cast<double>(job.PhaseLossNs(end)) * 1e-9);
  } else if (job.iteration_start > end) {
    delays_.Attribute(job, LossCause::kShift,
                      (end - std::max(job.last_iteration_end, job.waits_recorded_until)).seconds().value());
  }
  const double gained_s = std::exchange(job.gained_s, 0);
  if (gained_s > 0) delays_.AttributeMore(job, -gained_s);
  if (last == LastIteration::kCounts) return;
  const double lost_ns = job.open_work * static_cast<double>(job.solo.iteration_ns);
  delays_.Attribute(job, LossCause::kRestart, lost_ns * 1e-9);
  job.open_work = 0;
}

// On its paths in force, all links healthy.
double ClusterSimulation::IntensityOf(const JobRecord& record) {
  const auto traffic = meter_.Measure(*record.iteration, record.state->paths);
  const auto profile = traffic::ComputeProfile(record.job.id, *record.iteration, traffic);
  return profile.communicates() ? profile.intensity.value() : 0;
}

RunResult ClusterSimulation::MakeResult(bool partial) {
  for (JobId id : running_) {
    SettleBytes(records_[id]);
    CloseAccount(records_[id], LastIteration::kCounts);
    records_[id].gpu_intensity = IntensityOf(records_[id]);
  }
  RunResult result;
  result.policy = std::string(traffic_->name());
  if (allocates()) result.allocation = std::string(options_.controller.allocation.policy->name());
  result.seed = options_.controller.hash_seed;
  result.partial = partial;
  result.simulated_s = now_.seconds().value();
  const controller::ControlCounters& counters = options_.live != nullptr ? live_counters_ : controller_->counters();
  result.path_changes = counters.path_changes;
  result.level_changes = counters.level_changes;
  result.num_plans = counters.plans;
  result.control = std::move(control_);
  CollectResult({.fabric = *fabric_,
                 .jobs = records_,
                 .running = running_,
                 .delays = delays_,
                 .busy_gpu_seconds = busy_gpu_seconds_,
                 .carried = carried_,
                 .end = now_,
                 .num_bins = options_.num_bins,
                 .num_hottest_links = options_.num_hottest_links,
                 .allocates = allocates(),
                 .has_congestion = options_.dcqcn.has_value()},
                &result);
  return result;
}

}  // namespace fairlead::sim
