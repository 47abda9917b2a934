#include "controller/steering.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace fairlead::controller {
namespace {

using model::Finding;
using model::RecommendedAction;

// What one process, counter or message can say by itself moves nothing.
constexpr size_t kSignsMin = 2;
constexpr SimDuration kHour(3'600'000'000'000);
constexpr SimDuration kDay(86'400'000'000'000);

Status ExpectShare(const char* option, double found) {
  if (found >= 0 && found <= 1) return OkStatus();
  return InvalidArgument(fmt::format("steering: {}: expected 0..1, found {}", option, found));
}

// A share of so many hosts, at least one: small jobs have faults, too.
size_t AllowedHosts(double share, size_t num_hosts) {
  return std::max<size_t>(1, static_cast<size_t>(share * static_cast<double>(num_hosts)));
}

std::string HostCount(size_t count) { return fmt::format("{} host{}", count, count == 1 ? "" : "s"); }

}  // namespace

Status SteeringOptions::Validate() const {
  FL_RETURN_IF_ERROR(ExpectShare("max_job_share_per_day", max_job_share_per_day));
  FL_RETURN_IF_ERROR(ExpectShare("max_cluster_share_per_day", max_cluster_share_per_day));
  FL_RETURN_IF_ERROR(ExpectShare("suspect_fabric_share", suspect_fabric_share));
  FL_RETURN_IF_ERROR(ExpectShare("min_confidence", min_confidence));
  if (hold_off < SimDuration(0)) {
    return InvalidArgument(fmt::format("steering: hold_off: expected >= 0 s, found {} s", hold_off.seconds().value()));
  }
  return attempts.Validate();
}

std::string_view Name(SteeringMode mode) {
  static constexpr std::array<std::string_view, 3> kNames = {"observe", "recommend", "act"};
  return kNames.at(static_cast<size_t>(mode));
}

std::string_view Name(JobCondition condition) {
  static constexpr std::array<std::string_view, 4> kNames = {"running", "steered", "waits_for_spare", "needs_operator"};
  return kNames.at(static_cast<size_t>(condition));
}

std::string_view Name(HostCondition condition) {
  static constexpr std::array<std::string_view, 7> kNames = {"unknown",   "in_job",   "spare",   "reserved",
                                                             "isolating", "isolated", "in_doubt"};
  return kNames.at(static_cast<size_t>(condition));
}

uint32_t RecommendedSpares(uint32_t num_hosts) {
  constexpr uint32_t kHostsPerSpare = 16;
  return std::max(1u, (num_hosts + kHostsPerSpare - 1) / kHostsPerSpare);
}

Steering::Steering(const SteeringOptions& options, uint32_t num_cluster_hosts)
    : options_(options), num_cluster_hosts_(num_cluster_hosts), attempts_(options.attempts) {}

std::vector<SteeringAction> Steering::Handle(SimTime now, std::span<const SteeringEvent> events) {
  for (const SteeringEvent& event : events) {
    std::visit([&](const auto& e) { Take(now, e); }, event);
  }
  for (const ActionAttempts::End& end : attempts_.Advance(now, &actions_)) End(now, end);
  JudgeHeldUp(now);
  return std::exchange(actions_, {});
}

std::optional<JobCondition> Steering::ConditionOf(JobId job) const {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return std::nullopt;
  if (found->second.needs_operator) return JobCondition::kNeedsOperator;
  const auto sequence = sequences_.find(job);
  if (sequence == sequences_.end()) return JobCondition::kRunning;
  return sequence->second.waits_for_spare ? JobCondition::kWaitsForSpare : JobCondition::kSteered;
}

HostCondition Steering::ConditionOf(HostId host) const {
  if (isolating_.contains(host)) return HostCondition::kIsolating;
  if (isolated_.contains(host)) return HostCondition::kIsolated;
  if (in_doubt_.contains(host)) return HostCondition::kInDoubt;
  if (spares_.contains(host)) return HostCondition::kSpare;
  for (const auto& [job, sequence] : sequences_) {
    if (sequence.reserved.contains(host) || sequence.taken.contains(host)) return HostCondition::kReserved;
  }
  return IsOfJob(host) ? HostCondition::kInJob : HostCondition::kUnknown;
}

bool Steering::IsOfJob(HostId host) const {
  return std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& entry) {
    const std::vector<HostId>& hosts = entry.second.hosts;
    return std::find(hosts.begin(), hosts.end(), host) != hosts.end();
  });
}

void Steering::Take(SimTime now, const JobRunning& event) {
  if (const auto found = sequences_.find(event.job); found != sequences_.end()) {
    const Sequence& sequence = found->second;
    const SteeringAction* current = attempts_.Find(sequence.current);
    const bool is_ours = event.is_new_run && current != nullptr && std::holds_alternative<RestartJob>(current->step) &&
                         sequence.hosts == event.hosts;
    if (is_ours) return Take(now, StepDone{.action = sequence.current});
    if (jobs_.at(event.job).hosts == event.hosts) return;
    const bool is_being_stopped = current != nullptr && std::holds_alternative<StopJob>(current->step);
    if (is_being_stopped) return ChangeHosts(event.job, event.hosts);
    // The diagnosis needs a while to learn of a run: this one is stopped by now.
    if (sequence.is_stopped && !event.is_new_run) return;
    Tell(now, Advise{event.job}, event.job, &sequence.finding, "the job was restarted by others; ours is dropped");
    Drop(event.job);
    EndExcuse(now, event.job);
  }
  Job& job = jobs_[event.job];
  job.can_shrink = event.can_shrink;
  job.has_unverified_owner = !event.is_owner_verified;
  if (event.is_new_run || job.hosts != event.hosts) job.needs_operator = false;
  for (const HostId host : event.hosts) {
    NoteUsed(host);
    if (event.is_new_run) in_doubt_.erase(host);
  }
  const bool is_restart = !job.hosts.empty() && job.hosts != event.hosts;
  if (is_restart) {
    job.held_up.clear();
    job.hold_off_until = std::max(job.hold_off_until, now + options_.hold_off);
  }
  job.hosts = event.hosts;
  ServeWaiting(now);  // with the spares of a sequence that was dropped
}

void Steering::Take(SimTime now, const JobGone& event) {
  Drop(event.job);
  jobs_.erase(event.job);
  std::erase_if(judged_, [&](const auto& judged) { return std::get<JobId>(judged) == event.job; });
  ServeWaiting(now);
}

void Steering::Take(SimTime now, const SpareOffered& event) {
  in_doubt_.erase(event.host);
  if (ConditionOf(event.host) != HostCondition::kUnknown) return;
  spares_.insert(event.host);
  ServeWaiting(now);
}

void Steering::Take(SimTime now, const FindingReported& event) {
  const Finding& finding = event.finding;
  const auto job = jobs_.find(finding.job);
  if (job == jobs_.end()) return;
  if (finding.state == model::FindingState::kCleared) job->second.held_up.erase(finding.id);
  if (finding.state != model::FindingState::kConfirmed) return;
  // A finding arrives again with each change; it is judged when it is confirmed, and while it is held up.
  if (judged_.emplace(finding.job, finding.id, finding.first_seen).second) return Judge(now, finding);
  const auto held_up = job->second.held_up.find(finding.id);
  if (held_up != job->second.held_up.end()) held_up->second.finding = finding;
}

void Steering::Take(SimTime now, const StepDone& event) {
  if (const std::optional<ActionAttempts::End> end = attempts_.Answer(now, event)) End(now, *end);
}

void Steering::Take(SimTime now, const HostTested& event) {
  if (!isolated_.contains(event.host) || isolating_.contains(event.host)) return;
  if (const auto test = tests_.find(event.host); test != tests_.end()) {
    attempts_.Forget(test->second);
    tests_.erase(test);
  }
  if (event.is_healthy) BeginReturn(now, event.host, "passed its tests");
}

void Steering::Take(SimTime now, const IsolationUndone& event) {
  // Of one that is under way it would be unknown which of the two was carried out last.
  if (isolated_.contains(event.host) && !isolating_.contains(event.host)) {
    BeginReturn(now, event.host, "its isolation was taken back");
  }
}

void Steering::Take(SimTime now, const PauseAnnounced& event) {
  const auto found = jobs_.find(event.job);
  if (found == jobs_.end() || found->second.paused_until == event.until) return;
  found->second.paused_until = event.until;
  found->second.pause_reason = event.reason;
  // While a job is stopped it is excused anyway.
  if (!sequences_.contains(event.job)) {
    Tell(now, ExcuseJob{event.job, event.until}, event.job, nullptr, "announced: " + event.reason);
  }
}

void Steering::Judge(SimTime now, const Finding& finding) {
  Job& job = jobs_.at(finding.job);
  const std::vector<HostId> guilty = GuiltyHosts(finding);
  const Objection objection = FindObjection(now, finding, guilty);
  if (objection.rule.empty()) {
    job.held_up.erase(finding.id);
    std::erase_if(history_, [&](const Isolation& isolation) { return isolation.at <= now - kDay; });
    Begin(now, finding, guilty);
    return;
  }
  const auto held_up = job.held_up.find(finding.id);
  const bool is_known = held_up != job.held_up.end() && held_up->second.rule == objection.rule;
  if (objection.may_pass) {
    job.held_up.insert_or_assign(finding.id, SteeredJob::HeldUp{finding, std::string(objection.rule)});
  } else {
    job.held_up.erase(finding.id);
  }
  if (is_known) return;
  Tell(now, Advise{finding.job, finding.action}, finding.job, &finding, objection.text + ": " + finding.summary);
}

void Steering::JudgeHeldUp(SimTime now) {
  std::vector<Finding> held_up;
  for (const auto& [id, job] : jobs_) {
    for (const auto& [number, held] : job.held_up) held_up.push_back(held.finding);
  }
  for (const Finding& finding : held_up) {
    if (jobs_.at(finding.job).held_up.contains(finding.id)) Judge(now, finding);
  }
}

std::vector<HostId> Steering::GuiltyHosts(const Finding& finding) const {
  if (finding.action != RecommendedAction::kIsolateAndRestart) return {};
  const std::vector<HostId>& hosts = jobs_.at(finding.job).hosts;
  std::vector<HostId> guilty;
  for (const model::Culprit& culprit : finding.culprits) {
    if (std::find(hosts.begin(), hosts.end(), culprit.host) != hosts.end()) guilty.push_back(culprit.host);
  }
  std::sort(guilty.begin(), guilty.end());
  guilty.erase(std::unique(guilty.begin(), guilty.end()), guilty.end());
  return guilty;
}

Steering::Objection Steering::FindObjection(SimTime now, const Finding& finding,
                                            const std::vector<HostId>& guilty) const {
  if (finding.syndrome == model::Syndrome::kMismatch) {
    return {"software", "a bug in the program; no host is touched"};
  }
  switch (finding.action) {
    case RecommendedAction::kRestart:
    case RecommendedAction::kIsolateAndRestart:
      break;
    case RecommendedAction::kNone:
    case RecommendedAction::kWatch:
      return {"watch", "to be watched"};
    case RecommendedAction::kReportSoftware:
      return {"software", "for the owner of the job"};
    case RecommendedAction::kRepairPath:
      return {"network", "for the network"};
  }
  const Job& job = jobs_.at(finding.job);
  if (finding.action == RecommendedAction::kIsolateAndRestart && guilty.empty()) {
    return {"no host", "names no host of the job"};
  }
  const auto suspicious = static_cast<size_t>(options_.suspect_fabric_share * static_cast<double>(job.hosts.size()));
  if (guilty.size() > std::max<size_t>(1, suspicious)) {
    return {"fabric", fmt::format("{} of {} hosts look guilty: suspect the fabric or the detector", guilty.size(),
                                  job.hosts.size())};
  }
  if (finding.confidence < options_.min_confidence) {
    return {"confidence", fmt::format("confidence is only {:.2f}", finding.confidence)};
  }
  if (job.has_unverified_owner)
    return {"owner", "the job's owner is not verified, or the operator's map of jobs does not allow action on it"};
  if (finding.signs.size() < kSignsMin) {
    const std::string known = finding.signs.empty() ? "no sign" : fmt::format("{} alone", Name(finding.signs.front()));
    return {"signs", fmt::format("known by {}, and two independent signs are needed", known), true};
  }
  if (options_.mode == SteeringMode::kObserve) return {"observe", "observing only"};
  if (job.needs_operator) return {"operator", "an action on the job was given up; an operator has to look first", true};
  if (sequences_.contains(finding.job)) return {"busy", "another action on the job is under way", true};
  const bool is_returning = std::ranges::any_of(guilty, [&](HostId host) { return returning_.contains(host); });
  if (is_returning) return {"returning", "the host was isolated, and its return is under way", true};
  for (const auto& [other, sequence] : sequences_) {
    const bool is_shared = !sequence.waits_for_spare && std::ranges::any_of(guilty, [&](HostId host) {
      return std::ranges::count(sequence.hosts, host) > 0;
    });
    if (is_shared) return {"shared", "an action on another job of that host is under way", true};
  }
  if (now < job.paused_until) return {"pause", "a pause of the job was announced (" + job.pause_reason + ")", true};
  if (now < job.hold_off_until) {
    const double seconds = (job.hold_off_until - now).seconds().value();
    return {"hold-off", fmt::format("the job restarted recently; wait {:.0f} s", seconds), true};
  }
  Objection limit = FindLimit(now, finding, guilty);
  if (!limit.rule.empty() || options_.mode == SteeringMode::kAct) return limit;
  return {"recommend", "recommended"};
}

Steering::Objection Steering::FindLimit(SimTime now, const Finding& finding, const std::vector<HostId>& guilty) const {
  const std::vector<HostId>& hosts = jobs_.at(finding.job).hosts;
  const size_t num_to_replace = guilty.size() + static_cast<size_t>(std::ranges::count_if(hosts, [&](HostId host) {
                                  return isolated_.contains(host) && std::ranges::count(guilty, host) == 0;
                                }));
  if (spares_.size() < num_to_replace && finding.syndrome != model::Syndrome::kDead) {
    return {"spares", fmt::format("{} spares for {}", spares_.size(), HostCount(num_to_replace)), true};
  }
  if (guilty.empty()) return {};
  const size_t in_hour = NumIsolatedSince(now - kHour, finding.job) + guilty.size();
  if (in_hour > options_.max_hosts_per_job_hour) {
    return {"hour", fmt::format("limit: {} of a job per hour", HostCount(options_.max_hosts_per_job_hour)), true};
  }
  const size_t of_job = AllowedHosts(options_.max_job_share_per_day, jobs_.at(finding.job).hosts.size());
  if (NumIsolatedSince(now - kDay, finding.job) + guilty.size() > of_job) {
    return {"job day", fmt::format("limit: {} of this job per day", HostCount(of_job)), true};
  }
  const size_t of_cluster = AllowedHosts(options_.max_cluster_share_per_day, num_cluster_hosts_);
  if (NumIsolatedSince(now - kDay, JobId()) + guilty.size() > of_cluster) {
    return {"cluster day", fmt::format("limit: {} of the cluster per day", HostCount(of_cluster)), true};
  }
  return {};
}

std::set<HostId> Steering::MarkedHosts() const {
  std::set<HostId> hosts = isolated_;
  hosts.insert(spares_.begin(), spares_.end());
  hosts.insert(in_doubt_.begin(), in_doubt_.end());
  for (const auto& [job, sequence] : sequences_) {
    hosts.insert(sequence.reserved.begin(), sequence.reserved.end());
    hosts.insert(sequence.taken.begin(), sequence.taken.end());
  }
  return hosts;
}

bool Steering::IsStopped(JobId job) const {
  const auto found = sequences_.find(job);
  if (found == sequences_.end()) return false;
  const SteeringAction* current = attempts_.Find(found->second.current);
  return found->second.is_stopped || (current != nullptr && std::holds_alternative<StopJob>(current->step));
}

std::vector<JobId> Steering::Jobs() const {
  std::vector<JobId> jobs;
  for (const auto& [job, what] : jobs_) jobs.push_back(job);
  return jobs;
}

SimTime Steering::PausedUntil(JobId job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? SimTime() : found->second.paused_until;
}

size_t Steering::NumIsolatedSince(SimTime since, JobId job) const {
  return static_cast<size_t>(std::count_if(history_.begin(), history_.end(), [&](const Isolation& isolation) {
    return isolation.at > since && (!job.valid() || isolation.job == job);
  }));
}

}  // namespace fairlead::controller
