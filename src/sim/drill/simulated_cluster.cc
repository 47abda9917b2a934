#include "sim/drill/simulated_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace fairlead::sim {

using controller::SteeringAction;
using controller::SteeringEvent;
using controller::SteeringStep;

namespace {

// Of a process that was asked to end (SIGTERM).
constexpr int32_t kStoppedExitCode = 143;

Status ExpectNotNegative(const char* option, SimDuration found) {
  if (found >= SimDuration(0)) return OkStatus();
  return InvalidArgument(fmt::format("cluster: {}: expected >= 0 s, found {} s", option, found.seconds().value()));
}

}  // namespace

Status ClusterOptions::Validate() const {
  FL_RETURN_IF_ERROR(shape.Validate());
  FL_RETURN_IF_ERROR(noise.Validate());
  FL_RETURN_IF_ERROR(ExpectNotNegative("isolate_time", isolate_time));
  FL_RETURN_IF_ERROR(ExpectNotNegative("stop_time", stop_time));
  FL_RETURN_IF_ERROR(ExpectNotNegative("spare_time", spare_time));
  FL_RETURN_IF_ERROR(ExpectNotNegative("restart_time", restart_time));
  FL_RETURN_IF_ERROR(ExpectNotNegative("test_time", test_time));
  FL_RETURN_IF_ERROR(ExpectNotNegative("return_time", return_time));
  if (failing_actions >= 0 && failing_actions <= 1) return OkStatus();
  return InvalidArgument(fmt::format("cluster: failing_actions: expected 0..1, found {}", failing_actions));
}

SimulatedCluster::SimulatedCluster(const ClusterOptions& options, std::vector<execution::Fault> faults)
    : options_(options), faults_(options.shape, std::move(faults)), random_(CombineHash(options.seed, 20)) {
  std::vector<HostId> hosts;
  for (uint32_t h = 0; h < options.shape.NumHosts(); ++h) hosts.emplace_back(h);
  Start(SimTime(), hosts);
}

std::vector<SteeringEvent> SimulatedCluster::Announce() const {
  std::vector<SteeringEvent> events = {controller::JobRunning{kJob, place_.hosts}};
  for (uint32_t s = 0; s < options_.num_spares; ++s) {
    events.emplace_back(controller::SpareOffered{HostId(options_.shape.NumHosts() + s)});
  }
  return events;
}

SimDuration SimulatedCluster::TimeOf(const SteeringStep& step) const {
  if (std::holds_alternative<controller::IsolateHost>(step)) return options_.isolate_time;
  if (std::holds_alternative<controller::StopJob>(step)) return options_.stop_time;
  if (std::holds_alternative<controller::TakeSpare>(step)) return options_.spare_time;
  if (std::holds_alternative<controller::RestartJob>(step)) return options_.restart_time;
  if (std::holds_alternative<controller::TestHost>(step)) return options_.test_time;
  return options_.return_time;
}

void SimulatedCluster::Begin(SimTime now, const SteeringAction& action) {
  const bool succeeds = random_.Uniform() >= options_.failing_actions;
  due_.push_back({now + TimeOf(action.step), action, succeeds});
}

std::vector<SteeringEvent> SimulatedCluster::TakeOutcomes(SimTime now) {
  std::vector<SteeringEvent> outcomes;
  std::vector<Due> due;
  for (Due& entry : std::exchange(due_, {})) (entry.at <= now ? due : due_).push_back(std::move(entry));
  std::stable_sort(due.begin(), due.end(), [](const Due& a, const Due& b) { return a.at < b.at; });
  for (const Due& entry : due) {
    const SteeringAction& action = entry.action;
    if (entry.succeeds && done_.insert(action.number).second) Apply(now, action, &outcomes);
    outcomes.emplace_back(controller::StepDone{.action = action.number,
                                               .attempt = action.attempt,
                                               .succeeded = entry.succeeds,
                                               .message = entry.succeeds ? "" : "the drill made it fail"});
  }
  return outcomes;
}

void SimulatedCluster::Apply(SimTime now, const SteeringAction& action, std::vector<SteeringEvent>* outcomes) {
  if (std::holds_alternative<controller::StopJob>(action.step)) Stop(now);
  if (const auto* restart = std::get_if<controller::RestartJob>(&action.step)) Start(now, restart->hosts);
  if (const auto* test = std::get_if<controller::TestHost>(&action.step)) {
    outcomes->push_back(controller::HostTested{test->host, faults_.IsHealthy(now, test->host)});
  }
}

void SimulatedCluster::Start(SimTime now, const std::vector<HostId>& hosts) {
  if (run_) Stop(now);
  if (num_runs_ > 0) AddStretch(JobActivity::kRestarting, stopped_at_, now);
  place_ = {now - SimTime(), hosts, options_.shape.gpus_per_host};
  run_begin_ = simulated_until_ = progress_.last_progress = now;
  progress_.num_ended = 0;
  run_.emplace(options_.shape, faults_.BeginRun(place_), options_.noise, CombineHash(options_.seed, num_runs_++));
}

void SimulatedCluster::Stop(SimTime now) {
  if (!run_) return;
  simulated_until_ = now;
  NoteProgress(now);
  const uint64_t every = options_.shape.checkpoint_every;
  const uint64_t kept = every == 0 ? 0 : progress_.num_ended / every * every;
  const uint64_t next_base = every == 0 ? 0 : progress_.base_iteration + kept;
  progress_.num_lost += NumIterations() - next_base;
  for (JobStretch& stretch : Stretches()) {
    if (stretch.begin >= run_begin_) stretches_.push_back(stretch);
  }
  progress_.farthest = std::max(progress_.farthest, NumIterations());
  progress_.base_iteration = next_base;
  progress_.num_ended = 0;
  stopped_at_ = now;
  run_.reset();
  // The agents see the processes end.
  for (uint32_t h = 0; h < place_.hosts.size(); ++h) {
    model::HostReport report;
    report.job = kJob;
    report.host = place_.hosts[h];
    report.number = report_numbers_[report.host];
    report.at = now;
    for (uint32_t r = 0; r < options_.shape.NumRanks(); ++r) {
      if (options_.shape.HostOf(model::RankId(r)) != HostId(h)) continue;
      report.ranks.push_back({model::RankId(r), model::ProcessState::kGone, {.code = kStoppedExitCode}});
    }
    parting_.emplace_back(std::move(report));
  }
}

std::vector<model::TelemetryRecord> SimulatedCluster::Simulate(SimTime now) {
  std::vector<model::TelemetryRecord> records = std::exchange(parting_, {});
  simulated_until_ = now;
  if (!run_) return records;
  run_->Run(SimTime() + (now - run_begin_), [&](SimTime, const model::TelemetryRecord& record) {
    records.push_back(Relocate(record, place_));
    if (const auto* report = std::get_if<model::HostReport>(&records.back())) {
      report_numbers_[report->host] = report->number + 1;
    }
  });
  NoteProgress(now);
  return records;
}

std::vector<SimTime> SimulatedCluster::IterationEnds() const {
  std::vector<SimTime> ends;
  if (!run_) return ends;
  for (const SimTime end : run_->IterationEnds()) {
    ends.push_back(end == SimTime::Never() ? end : end + place_.begin);
  }
  return ends;
}

void SimulatedCluster::NoteProgress(SimTime now) {
  const std::vector<SimTime> ends = run_->IterationEnds();
  const auto is_over = [&](SimTime end) { return end != SimTime::Never() && end + place_.begin <= now; };
  for (; progress_.num_ended < ends.size() && is_over(ends[progress_.num_ended]); ++progress_.num_ended) {
    progress_.last_progress = ends[progress_.num_ended] + place_.begin;
  }
  faults_.NoteActed(*run_, place_, now);
}

void SimulatedCluster::AddStretch(JobActivity activity, SimTime begin, SimTime end) {
  if (begin < end) stretches_.push_back({activity, begin, end});
}

std::vector<JobStretch> SimulatedCluster::Stretches() const {
  std::vector<JobStretch> stretches = stretches_;
  const auto add = [&](JobActivity activity, SimTime begin, SimTime end) {
    if (begin < end) stretches.push_back({activity, begin, end});
  };
  if (!run_) {
    add(JobActivity::kRestarting, stopped_at_, simulated_until_);
    return stretches;
  }
  const std::vector<SimTime> ends = IterationEnds();
  const uint64_t num_repeated = std::min<uint64_t>(
      progress_.num_ended, progress_.farthest - std::min(progress_.farthest, progress_.base_iteration));
  const SimTime caught_up = num_repeated == 0 ? run_begin_ : ends[num_repeated - 1];
  add(JobActivity::kRepeating, run_begin_, caught_up);
  // An iteration is under way unless the next one will never end.
  const bool is_stalled = progress_.num_ended < ends.size() && ends[progress_.num_ended] == SimTime::Never();
  const bool still_repeats = NumIterations() < progress_.farthest;
  add(still_repeats ? JobActivity::kRepeating : JobActivity::kTraining, caught_up,
      is_stalled ? progress_.last_progress : std::max(progress_.last_progress, simulated_until_));
  if (is_stalled) add(JobActivity::kStalled, progress_.last_progress, simulated_until_);
  return stretches;
}

}  // namespace fairlead::sim
