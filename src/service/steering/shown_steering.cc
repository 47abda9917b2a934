#include "service/steering/shown_steering.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "model/job_identity.h"

namespace fairlead::service {
namespace {

constexpr SimDuration kShownDay(86'400'000'000'000);

report::Json ShownHosts(const controller::KeptSteering& kept) {
  report::Json hosts = report::Json::array();
  for (const HostId host : kept.steering().MarkedHosts()) {
    hosts.push_back(
        {{"name", kept.names().Of(host)}, {"condition", controller::Name(kept.steering().ConditionOf(host))}});
  }
  return hosts;
}

report::Json ShownJobs(const controller::KeptSteering& kept, SimTime now) {
  const controller::Steering& steering = kept.steering();
  report::Json jobs = report::Json::array();
  for (const JobId job : steering.Jobs()) {
    report::Json hosts = report::Json::array();
    for (const HostId host : steering.HostsOf(job)) hosts.push_back(kept.names().Of(host));
    const SimTime paused_until = steering.PausedUntil(job);
    jobs.push_back(
        {{"name", kept.names().Of(job)},
         {"condition", controller::Name(*steering.ConditionOf(job))},
         {"hosts", std::move(hosts)},
         {"paused_until_s", paused_until > now ? report::Json(paused_until.seconds().value()) : report::Json()},
         {"isolated_last_day", steering.NumIsolatedSince(now - kShownDay, job)}});
  }
  return jobs;
}

report::Json ShownOpenActions(const controller::KeptSteering& kept) {
  report::Json actions = report::Json::array();
  for (const auto& [number, open] : kept.steering().attempts().open()) {
    actions.push_back({{"action", number},
                       {"attempt", open.action.attempt},
                       {"description", controller::Describe(open.action.step, kept.names())},
                       {"waits_for", open.is_sent ? "answer" : "next attempt"},
                       {"until_s", open.due.seconds().value()}});
  }
  return actions;
}

}  // namespace

void ShownSteering::SetNow(SimTime now) {
  const std::lock_guard lock(mutex_);
  now_ = now;
}

Status ShownSteering::SetStatus(const Status& status) {
  const std::lock_guard lock(mutex_);
  return std::exchange(status_, status);
}

void ShownSteering::Update(const controller::KeptSteering& kept, const std::deque<report::Json>& log,
                           const std::map<std::string, uint64_t>& begun) {
  const controller::Steering& steering = kept.steering();
  report::Json isolated = report::Json::array();
  for (const HostId host : steering.isolated()) isolated.push_back(kept.names().Of(host));
  report::Json view = {{"mode", controller::Name(mode_)},
                       {"back_end", back_end_},
                       {"isolated", std::move(isolated)},
                       {"hosts", ShownHosts(kept)},
                       {"jobs", ShownJobs(kept, now())},
                       {"open_actions", ShownOpenActions(kept)},
                       {"log", log}};
  SteeringNumbers numbers = {.hosts = {}, .jobs = {}, .begun = begun, .is_ok = true};
  std::map<HostId, controller::HostCondition> conditions;
  for (const HostId host : steering.MarkedHosts()) {
    conditions[host] = steering.ConditionOf(host);
    ++numbers.hosts[conditions[host]];
  }
  std::map<std::string, JobId> jobs;
  for (const JobId job : steering.Jobs()) {
    jobs[kept.names().Of(job)] = job;
    ++numbers.jobs[*steering.ConditionOf(job)];
  }
  const std::lock_guard lock(mutex_);
  view_ = std::move(view);
  conditions_ = std::move(conditions);
  running_jobs_ = std::move(jobs);
  numbers_ = std::move(numbers);
}

report::Json ShownSteering::ToJson() const {
  const std::lock_guard lock(mutex_);
  report::Json json = view_;
  json["error"] = status_.ok() ? report::Json() : report::Json(status_.message());
  return json;
}

SteeringNumbers ShownSteering::numbers() const {
  const std::lock_guard lock(mutex_);
  SteeringNumbers numbers = numbers_;
  numbers.is_ok = status_.ok();
  return numbers;
}

Status ShownSteering::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

SimTime ShownSteering::now() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

controller::HostCondition ShownSteering::ConditionOf(HostId host) const {
  const std::lock_guard lock(mutex_);
  const auto found = conditions_.find(host);
  return found == conditions_.end() ? controller::HostCondition::kUnknown : found->second;
}

std::map<HostId, controller::HostCondition> ShownSteering::conditions() const {
  const std::lock_guard lock(mutex_);
  return conditions_;
}

Result<JobId> ShownSteering::FindRunning(const std::string& job) const {
  const std::lock_guard lock(mutex_);
  if (const auto found = running_jobs_.find(job); found != running_jobs_.end()) return found->second;
  std::vector<std::string> of_that_name;
  for (const auto& [key, id] : running_jobs_) {
    const auto identity = model::ParseJobKey(key);
    if (identity.has_value() && identity->name == job) of_that_name.push_back(key);
  }
  if (of_that_name.empty()) return NotFound(fmt::format("no job '{}' runs under the diagnosis", job));
  if (of_that_name.size() == 1) return running_jobs_.at(of_that_name.front());
  return InvalidArgument(
      fmt::format("several jobs are called '{}': give one of {}", job, fmt::join(of_that_name, ", ")));
}

}  // namespace fairlead::service
