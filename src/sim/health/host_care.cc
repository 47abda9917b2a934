#include "sim/health/host_care.h"

#include <algorithm>
#include <utility>

#include "base/random.h"
#include "controller/host_allocation.h"

namespace fairlead::sim {

using controller::HostCondition;
using controller::HostState;
using controller::SteeringAction;
using controller::SteeringEvent;
using execution::FaultKind;

namespace {

// Findings that are held up are looked at again that often.
constexpr SimDuration kLookAgain(5'000'000'000);
// Until then an allocator has moved a job that can be moved.
constexpr SimDuration kAllocatorsTurn(1'000'000'000);

double SecondsFrom(SimTime begin, SimTime end) { return std::max(0.0, (end - begin).seconds().value()); }

controller::SteeringOptions Acting(const HealthOptions& options) {
  controller::SteeringOptions steering = options.steering;
  steering.mode = options.has_diagnosis ? controller::SteeringMode::kAct : controller::SteeringMode::kObserve;
  return steering;
}

}  // namespace

// Carries actions out: hosts are isolated, tested and returned in their time; jobs are restarted by their allocator.
class HostCare::Hosts final : public controller::ActionBackend {
 public:
  explicit Hosts(HostCare* care) : care_(*care) {}

  std::string_view name() const override { return "simulated hosts"; }

  void Begin(SimTime now, const SteeringAction& action) override {
    const auto run = care_.runs_.find(action.job);
    const uint64_t number = run == care_.runs_.end() ? 0 : run->second.number;
    due_.push_back({now + TimeOf(action.step), action, number});
  }

  std::vector<SteeringEvent> TakeOutcomes(SimTime now) override {
    std::vector<SteeringEvent> outcomes;
    const auto is_due = [&](const Due& due) { return due.at <= now; };
    std::vector<Due> waiting;
    for (const Due& due : std::exchange(due_, {})) {
      if (is_due(due)) {
        Finish(due, &outcomes);
      } else {
        waiting.push_back(due);
      }
    }
    due_.insert(due_.end(), waiting.begin(), waiting.end());
    return outcomes;
  }

  SimTime Next() const {
    SimTime next = SimTime::Never();
    for (const Due& due : due_) next = std::min(next, due.at);
    return next;
  }

 private:
  struct Due {
    SimTime at;
    SteeringAction action;
    uint64_t run = 0;  // of its job when the action began
  };

  SimDuration TimeOf(const controller::SteeringStep& step) const {
    const HealthOptions& options = care_.options_;
    if (std::holds_alternative<controller::IsolateHost>(step)) return options.isolate_time;
    if (std::holds_alternative<controller::TestHost>(step)) return options.test_time;
    if (std::holds_alternative<controller::ReturnHost>(step)) return options.return_time;
    return kAllocatorsTurn;
  }

  void Finish(const Due& due, std::vector<SteeringEvent>* outcomes) {
    const SteeringAction& action = due.action;
    outcomes->emplace_back(controller::StepDone{.action = action.number, .attempt = action.attempt});
    if (const auto* test = std::get_if<controller::TestHost>(&action.step)) {
      outcomes->emplace_back(controller::HostTested{test->host, !care_.broken_.IsOn(test->host)});
    }
    if (!std::holds_alternative<controller::RestartJob>(action.step)) return;
    // Where isolation has moved it already, it runs anew.
    const auto run = care_.runs_.find(action.job);
    if (run == care_.runs_.end() || run->second.number != due.run) return;
    care_.news_.emplace_back(controller::JobFailed{action.job});
  }

  HostCare& care_;
  std::vector<Due> due_;
};

HostCare::HostCare(const topology::Fabric& fabric, std::vector<HostFault> faults, std::vector<HostEvent> events,
                   const HealthOptions& options, uint64_t seed)
    : fabric_(fabric),
      options_(options),
      seed_(seed),
      broken_(fabric, std::move(faults)),
      people_(fabric.num_hosts(), std::move(events), options.reaction, options.search),
      steering_(Acting(options), static_cast<uint32_t>(fabric.num_hosts())),
      hosts_(std::make_unique<Hosts>(this)),
      dispatcher_(&steering_, hosts_.get(), nullptr) {
  published_.assign(fabric.num_hosts(), HostState::kUp);
  away_since_.assign(fabric.num_hosts(), SimTime::Never());
}

HostCare::~HostCare() = default;

SimTime HostCare::Next() const {
  if (!exists()) return SimTime::Never();
  if (!changed_.empty() || !news_.empty()) return SimTime();
  SimTime next = std::min({broken_.NextBegin(), people_.Next(), hosts_->Next(), steering_.NextDue(), next_look_});
  for (const auto& [host, time] : repaired_at_) next = std::min(next, time);
  for (const auto& [id, run] : runs_) {
    next = std::min(next, run.fails_at);
    if (run.next_finding < run.findings.size()) next = std::min(next, run.findings[run.next_finding].at);
  }
  return next;
}

std::vector<JobId> HostCare::Advance(SimTime now) {
  if (!exists()) return {};
  for (const HostId host : broken_.Begin(now)) MarkJobsOn(host);
  people_.CarryOutPlans(now);
  std::vector<SteeringEvent> reported;
  ReportFindings(now, &reported);
  FailJobs(now);
  LetPeopleAct(now);
  Steer(now, reported);
  EndRepairs(now);
  Publish(now);
  const std::set<JobId> changed = std::exchange(changed_, {});
  return {changed.begin(), changed.end()};
}

std::vector<controller::Event> HostCare::TakeEvents() { return std::exchange(news_, {}); }

// ---- Hosts ----

void HostCare::MarkJobsOn(HostId host) {
  for (const auto& [id, run] : runs_) {
    if (std::ranges::count(run.hosts, host) > 0) changed_.insert(id);
  }
}

void HostCare::EndRepairs(SimTime now) {
  for (auto due = repaired_at_.begin(); due != repaired_at_.end();) {
    if (due->second > now) {
      ++due;
      continue;
    }
    const HostId host = due->first;
    due = repaired_at_.erase(due);
    broken_.Repair(host);
    people_.NoteRepair(host);
    MarkJobsOn(host);
    if (steering_.IsIsolated(host)) Steer(now, {controller::IsolationUndone{host}});
  }
}

void HostCare::Publish(SimTime now) {
  for (size_t h = 0; h < published_.size(); ++h) {
    const HostId host(h);
    const HostState state = controller::AllocationStateOf(steering_.ConditionOf(host), people_.StateOf(host));
    const HostState before = std::exchange(published_[host], state);
    if (before == state) continue;
    news_.emplace_back(controller::HostStateChanged{host, state});
    if (state == HostState::kIsolated) {
      away_since_[host] = now;
      repaired_at_[host] = now + options_.repair_time;
      totals_.num_isolations += 1;
      totals_.num_wrong_isolations += broken_.IsOn(host) ? 0 : 1;
    }
    if (before == HostState::kIsolated) {
      totals_.away_gpu_s += SecondsFrom(away_since_[host], now) * fabric_.num_gpus_of(host);
      away_since_[host] = SimTime::Never();
    }
    broken_.NoteState(host, before, state, now);
  }
}

// ---- Jobs ----

void HostCare::Begin(SimTime now, const CaredJob& job) {
  if (!exists()) return;
  Run& run = runs_[job.id];
  run = {.job = job, .number = ++num_runs_, .health_since = now};
  for (const GpuId gpu : job.placement.gpus) run.hosts.push_back(fabric_.host_of(gpu));
  std::vector<HostId> hosts = run.hosts;
  hosts.erase(std::ranges::unique(hosts).begin(), hosts.end());
  Steer(now, {controller::JobRunning{
                 .job = job.id, .hosts = std::move(hosts), .host_choice = controller::HostChoice::kAllocator}});
  const auto hit = hit_jobs_.find(job.id);
  if (hit != hit_jobs_.end()) {
    totals_.restarted_gpu_s += SecondsFrom(now, job.first_start) * static_cast<double>(job.placement.gpus.size());
    if (HealthOf(job.placement) == JobHealth()) {
      broken_.NoteResumed(hit->second, job.first_start);
      hit_jobs_.erase(hit);
    }
  }
  if (HealthOf(job.placement) != JobHealth()) changed_.insert(job.id);
}

void HostCare::NoteHealth(SimTime now, JobId job, double repeated_gpu_s) {
  totals_.repeated_gpu_s += repeated_gpu_s;
  Judge(now, runs_.at(job));
}

void HostCare::Judge(SimTime now, Run& run) {
  BookHealth(now, run);
  run.health = HealthOf(run.job.placement);
  run.fails_at = SimTime::Never();
  run.findings.clear();
  run.next_finding = 0;
  if (run.health == JobHealth()) return;
  const std::vector<WatchedFault> faults = broken_.FaultsOf(run.job.placement);
  const bool has_death =
      std::ranges::any_of(faults, [](const WatchedFault& fault) { return fault.kind == FaultKind::kGpuMemoryError; });
  const SimTime begin = std::max(now, run.job.first_start);
  const SimTime given_up = begin + options_.timeout;
  if (run.health.is_stuck) run.fails_at = has_death ? begin + options_.launcher_time : given_up;
  const auto fault = broken_.NoteHit(run.hosts, begin, hit_jobs_.contains(run.job.id));
  if (fault) hit_jobs_.try_emplace(run.job.id, *fault);
  if (!options_.has_diagnosis) return;
  run.findings = WatchRun({.job = run.job.id,
                           .hosts = run.hosts,
                           .begin = run.job.first_start,
                           .iteration_time = run.job.iteration_time,
                           .compute_time = run.job.compute_time,
                           .seed = CombineHash(seed_, run.number)},
                          faults, now, given_up);
}

void HostCare::BookHealth(SimTime now, Run& run) {
  const double gpu_s = SecondsFrom(std::max(run.health_since, run.job.first_start), now) *
                       static_cast<double>(run.job.placement.gpus.size());
  if (run.health.is_stuck) {
    totals_.hung_gpu_s += gpu_s;
  } else {
    totals_.slowed_gpu_s += gpu_s * (1 - 1 / run.health.slowdown);
  }
  run.health_since = now;
}

void HostCare::End(SimTime now, JobId job, bool is_finished) {
  const auto run = runs_.find(job);
  if (run == runs_.end()) return;
  BookHealth(now, run->second);
  runs_.erase(run);
  changed_.erase(job);
  if (!is_finished) return;
  hit_jobs_.erase(job);
  Steer(now, {controller::JobGone{job}});
}

// ---- Who does something about it ----

void HostCare::ReportFindings(SimTime now, std::vector<SteeringEvent>* reported) {
  for (auto& [id, run] : runs_) {
    for (; run.next_finding < run.findings.size() && run.findings[run.next_finding].at <= now; ++run.next_finding) {
      const model::Finding& finding = run.findings[run.next_finding].finding;
      reported->emplace_back(controller::FindingReported{finding});
      if (finding.state != model::FindingState::kConfirmed) continue;
      for (const model::Culprit& culprit : finding.culprits) {
        if (!culprit.host.valid()) continue;
        people_.NoteSuspect(culprit.host);
        broken_.NoteFound(culprit.host, now);
      }
    }
  }
}

void HostCare::FailJobs(SimTime now) {
  for (auto& [id, run] : runs_) {
    if (run.fails_at > now) continue;
    run.fails_at = SimTime::Never();
    ++totals_.num_failures;
    news_.emplace_back(controller::JobFailed{id});
    for (const HostId host : run.hosts) {
      if (broken_.IsOn(host) && published_[host] != HostState::kIsolated) people_.Search(now, host);
    }
  }
}

void HostCare::LetPeopleAct(SimTime now) {
  for (const HostId host : people_.TakeSearched(now)) {
    if (broken_.IsOn(host) && published_[host] != HostState::kIsolated) people_.Isolate(host);
  }
}

void HostCare::Steer(SimTime now, const std::vector<SteeringEvent>& events) {
  dispatcher_.Handle(now, events);
  const bool has_open_findings = std::ranges::any_of(
      runs_, [](const auto& entry) { return entry.second.health != JobHealth() && entry.second.next_finding > 0; });
  next_look_ = has_open_findings ? now + kLookAgain : SimTime::Never();
}

HealthResult HostCare::Result(SimTime end) {
  for (auto& [id, run] : runs_) BookHealth(end, run);
  for (size_t h = 0; h < away_since_.size(); ++h) {
    const HostId host(h);
    if (away_since_[host] == SimTime::Never()) continue;
    totals_.away_gpu_s += SecondsFrom(away_since_[host], end) * fabric_.num_gpus_of(host);
    away_since_[host] = end;
  }
  HealthResult result = totals_;
  result.faults = broken_.results();
  return result;
}

}  // namespace fairlead::sim
