#include "controller/kept_steering.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace fairlead::controller {
namespace {

constexpr std::string_view kStatePrefix = "steering/state/";
constexpr std::string_view kNamePrefix = "steering/name/";
constexpr char kLastFindingKey[] = "steering/last_finding";
constexpr SimDuration kLimitsRememberFor(86'400'000'000'000);

template <class IdType>
bool ParseNumberedId(std::string_view text, IdType* id) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  *id = IdType(number);
  return true;
}

Status UnreadableRecord(const std::string& key) {
  return {StatusCode::kDataLoss, fmt::format("store: record {} can't be read", key)};
}

}  // namespace

std::vector<SteeringEvent> KeptSteering::Gate::TakeOutcomes(SimTime now) {
  std::vector<SteeringEvent> outcomes = owner_->surroundings_.take_outcomes(now);
  if (!outcomes.empty()) owner_->has_outcomes_ = true;
  return outcomes;
}

KeptSteering::KeptSteering(SimTime now, const KeptSteeringOptions& options, std::vector<std::string> host_names,
                           Surroundings surroundings)
    : options_(options),
      host_names_(std::move(host_names)),
      started_(now),
      surroundings_(std::move(surroundings)),
      names_{.host =
                 [this](HostId host) {
                   return host.index() < host_names_.size() ? host_names_[host.index()] : std::string();
                 },
             .job =
                 [this](JobId job) {
                   const auto found = job_names_.find(job);
                   return found == job_names_.end() ? std::string() : found->second;
                 }},
      steering_(options.steering, static_cast<uint32_t>(host_names_.size())),
      gate_(this),
      dispatcher_(&steering_, &gate_, surroundings_.entry) {}

Result<KeptSteering::Start> KeptSteering::Restore(SimTime now, const Records& records) {
  std::vector<std::pair<std::string, std::string>> state;
  for (const auto& [key, value] : records) {
    const std::string_view view = key;
    if (view.starts_with(kStatePrefix)) {
      state.emplace_back(view.substr(kStatePrefix.size()), value);
    } else if (view.starts_with(kNamePrefix)) {
      JobId job;
      if (!ParseNumberedId(view.substr(kNamePrefix.size()), &job)) return UnreadableRecord(key);
      job_names_[job] = value;
    } else if (view == kLastFindingKey) {
      if (!ParseNumberedId(value, &last_finding_)) return UnreadableRecord(key);
    }
  }
  Start start;
  FL_ASSIGN_OR_RETURN(start.forgotten, steering_.Restore(state, host_names_));
  for (const JobId job : steering_.Jobs()) unseen_.insert(job);
  unexcused_ = unseen_;
  start.begun = steering_.Resume(now);
  if (options_.steering.mode == SteeringMode::kAct) return start;
  start.begun.clear();
  const std::string why = fmt::format("the controller was started again in mode {}", Name(options_.steering.mode));
  start.given_up = steering_.Abandon(now, why);
  return start;
}

void KeptSteering::Take(SteeringEvent event) {
  if (auto* running = std::get_if<JobRunning>(&event)) {
    std::string name = surroundings_.job_name ? surroundings_.job_name(running->job) : "";
    if (!name.empty()) job_names_[running->job] = std::move(name);
    // A diagnosis that has begun with this process sees every job for the first time.
    const bool is_known = unseen_.erase(running->job) > 0;
    if (is_known && steering_.HostsOf(running->job) == running->hosts) running->is_new_run = false;
  }
  if (const auto* gone = std::get_if<JobGone>(&event)) unseen_.erase(gone->job);
  if (const auto* reported = std::get_if<FindingReported>(&event)) {
    if (!last_finding_.valid() || reported->finding.id > last_finding_) last_finding_ = reported->finding.id;
  }
  waiting_.push_back(std::move(event));
}

KeptSteering::Batch KeptSteering::MakeBatch(SimTime now) {
  // Spares first: what was found at the same time may need them.
  std::vector<SteeringEvent> events = OwnEvents(now);
  std::ranges::move(std::exchange(waiting_, {}), std::back_inserter(events));
  const bool was_due = steering_.NextDue() <= now;
  has_outcomes_ = false;
  begun_.clear();
  const bool has_acted = !dispatcher_.Handle(now, events).empty();
  // What an event of the same batch has answered, or ended.
  std::erase_if(begun_, [&](const SteeringAction& action) {
    const SteeringAction* open = steering_.attempts().Find(action.number);
    return open == nullptr || open->attempt != action.attempt;
  });
  ForgetJobs(now);
  return {.is_made = !events.empty() || has_acted || has_outcomes_ || was_due, .begun = std::exchange(begun_, {})};
}

std::vector<SteeringEvent> KeptSteering::OwnEvents(SimTime now) {
  std::vector<SteeringEvent> events;
  for (const HostId spare : options_.spares) {
    if (steering_.ConditionOf(spare) == HostCondition::kUnknown) events.emplace_back(SpareOffered{spare});
  }
  if (now < started_ + options_.unseen_for) return events;
  std::erase_if(unseen_, [&](JobId job) {
    if (steering_.IsBusy(job)) return false;
    events.emplace_back(JobGone{job});
    return true;
  });
  return events;
}

void KeptSteering::ForgetJobs(SimTime now) {
  std::erase_if(job_names_, [&](const auto& entry) {
    const JobId job = entry.first;
    const auto& open = steering_.attempts().open();
    return !steering_.ConditionOf(job) && steering_.NumIsolatedSince(now - kLimitsRememberFor, job) == 0 &&
           std::none_of(open.begin(), open.end(), [&](const auto& one) { return one.second.action.job == job; });
  });
}

KeptSteering::Records KeptSteering::ToRecords() const {
  Records records;
  for (auto& [key, value] : steering_.Records(host_names_)) {
    records[fmt::format("{}{}", kStatePrefix, key)] = std::move(value);
  }
  for (const auto& [job, name] : job_names_) records[fmt::format("{}{}", kNamePrefix, job.value())] = name;
  if (last_finding_.valid()) records[kLastFindingKey] = std::to_string(last_finding_.value());
  return records;
}

std::vector<std::pair<JobId, SimTime>> KeptSteering::ExcusesToRenew(SimTime now) const {
  std::vector<std::pair<JobId, SimTime>> excuses;
  // A diagnosis that has begun with this process learns of jobs one after the other.
  if (now >= started_ + options_.unseen_for) return excuses;
  for (const JobId job : unexcused_) {
    if (steering_.IsStopped(job)) {
      excuses.emplace_back(job, SimTime::Never());
    } else if (steering_.PausedUntil(job) > now) {
      excuses.emplace_back(job, steering_.PausedUntil(job));
    }
  }
  return excuses;
}

}  // namespace fairlead::controller
