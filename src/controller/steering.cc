#include "controller/steering.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

namespace fairlead::controller {
namespace {

using model::Finding;
using model::RecommendedAction;

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

}  // namespace

Status SteeringOptions::Validate() const {
  FL_RETURN_IF_ERROR(ExpectShare("max_job_share_per_day", max_job_share_per_day));
  FL_RETURN_IF_ERROR(ExpectShare("max_cluster_share_per_day", max_cluster_share_per_day));
  FL_RETURN_IF_ERROR(ExpectShare("suspect_fabric_share", suspect_fabric_share));
  FL_RETURN_IF_ERROR(ExpectShare("min_confidence", min_confidence));
  if (hold_off < SimDuration(0)) {
    return InvalidArgument(fmt::format("steering: hold_off: expected >= 0 s, found {} s", hold_off.seconds().value()));
  }
  return OkStatus();
}

uint32_t RecommendedSpares(uint32_t num_hosts) {
  constexpr uint32_t kHostsPerSpare = 16;
  return std::max(1u, (num_hosts + kHostsPerSpare - 1) / kHostsPerSpare);
}

Steering::Steering(const SteeringOptions& options, uint32_t num_cluster_hosts)
    : options_(options), num_cluster_hosts_(num_cluster_hosts) {}

std::vector<SteeringAction> Steering::Handle(SimTime now, std::span<const SteeringEvent> events) {
  // What waits for an answer is told again, before anything new.
  for (const auto& [job, sequence] : sequences_) actions_.push_back(sequence.current);
  const size_t num_repeated = actions_.size();
  for (const SteeringEvent& event : events) {
    std::visit([&](const auto& e) { Take(now, e); }, event);
  }
  // What has just been answered needs no repetition.
  const auto is_stale = [&](const SteeringAction& action) {
    return std::none_of(sequences_.begin(), sequences_.end(),
                        [&](const auto& entry) { return entry.second.current.number == action.number; });
  };
  const auto repeated_end = actions_.begin() + static_cast<ptrdiff_t>(num_repeated);
  actions_.erase(std::remove_if(actions_.begin(), repeated_end, is_stale), repeated_end);
  return std::exchange(actions_, {});
}

void Steering::Take(SimTime now, const JobRunning& event) {
  Job& job = jobs_[event.job];
  if (job.hosts == event.hosts) return;
  const bool is_restart = !job.hosts.empty();
  job.hosts = event.hosts;
  for (const HostId host : event.hosts) spares_.erase(host);
  if (is_restart) job.hold_off_until = std::max(job.hold_off_until, now + options_.hold_off);
}

void Steering::Take(SimTime, const JobGone& event) {
  jobs_.erase(event.job);
  sequences_.erase(event.job);
  std::erase_if(judged_, [&](const auto& judged) { return judged.first == event.job; });
}

void Steering::Take(SimTime, const SpareOffered& event) {
  if (!isolated_.contains(event.host)) spares_.insert(event.host);
}

void Steering::Take(SimTime now, const FindingTold& event) {
  const Finding& finding = event.finding;
  if (finding.state != model::FindingState::kConfirmed || !jobs_.contains(finding.job)) return;
  // A finding is told again with each change; it was judged when it was confirmed.
  if (!judged_.emplace(finding.job, finding.id).second) return;
  std::vector<HostId> guilty = GuiltyHosts(finding);
  const std::string objection = FindObjection(now, finding, guilty);
  if (objection.empty()) {
    Begin(now, finding, std::move(guilty));
    return;
  }
  Tell(Advise{finding.job, finding.action}, finding.id, objection + ": " + finding.summary);
}

void Steering::Take(SimTime now, const StepDone& event) {
  const auto found = std::find_if(sequences_.begin(), sequences_.end(),
                                  [&](const auto& entry) { return entry.second.current.number == event.action; });
  if (found == sequences_.end()) return;  // answered before
  const JobId job = found->first;
  Sequence& sequence = found->second;
  if (!event.succeeded) return;  // told again with the next call
  if (const auto* isolate = std::get_if<IsolateHost>(&sequence.current.step)) {
    // Whether it may come back is asked while the job goes on.
    Tell(TestHost{isolate->host}, sequence.finding, "isolated: " + sequence.reason);
  }
  if (const auto* restart = std::get_if<RestartJob>(&sequence.current.step)) {
    jobs_[job].hosts = restart->hosts;
    jobs_[job].hold_off_until = now + options_.hold_off;
  }
  Continue(now, job);
}

void Steering::Take(SimTime, const HostTested& event) {
  if (!event.is_healthy || isolated_.erase(event.host) == 0) return;
  spares_.insert(event.host);
  Tell(ReturnHost{event.host}, model::FindingId(), "passed its tests");
}

void Steering::Take(SimTime, const IsolationUndone& event) {
  if (isolated_.erase(event.host) == 0) return;
  const bool is_used = std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& entry) {
    const std::vector<HostId>& hosts = entry.second.hosts;
    return std::find(hosts.begin(), hosts.end(), event.host) != hosts.end();
  });
  if (!is_used) spares_.insert(event.host);
  Tell(ReturnHost{event.host}, model::FindingId(), "its isolation was taken back");
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

std::string Steering::FindObjection(SimTime now, const Finding& finding, const std::vector<HostId>& guilty) const {
  if (finding.syndrome == model::Syndrome::kMismatch) return "a fault of the program; no host is touched";
  switch (finding.action) {
    case RecommendedAction::kRestart:
    case RecommendedAction::kIsolateAndRestart:
      break;
    case RecommendedAction::kNone:
    case RecommendedAction::kWatch:
      return "to be watched";
    case RecommendedAction::kReportSoftware:
      return "for the owner of the job";
    case RecommendedAction::kRepairPath:
      return "for the network";
  }
  if (finding.action == RecommendedAction::kIsolateAndRestart && guilty.empty()) return "names no host of the job";
  const size_t num_hosts = jobs_.at(finding.job).hosts.size();
  const auto suspicious = static_cast<size_t>(options_.suspect_fabric_share * static_cast<double>(num_hosts));
  if (guilty.size() > std::max<size_t>(1, suspicious)) {
    return fmt::format("{} of {} hosts look guilty: suspect the fabric or the detector", guilty.size(), num_hosts);
  }
  if (finding.confidence < options_.min_confidence) return fmt::format("confidence is only {:.2f}", finding.confidence);
  if (options_.mode == SteeringMode::kObserve) return "observing only";
  if (sequences_.contains(finding.job)) return "another action on the job is under way";
  const SimTime hold_off_until = jobs_.at(finding.job).hold_off_until;
  if (now < hold_off_until) {
    return fmt::format("the job restarted lately; wait {:.0f} s", (hold_off_until - now).seconds().value());
  }
  const std::string limit = FindLimit(now, finding, guilty);
  if (!limit.empty()) return limit;
  return options_.mode == SteeringMode::kRecommend ? "recommended" : "";
}

std::string Steering::FindLimit(SimTime now, const Finding& finding, const std::vector<HostId>& guilty) const {
  if (guilty.empty()) return "";
  const size_t in_hour = NumIsolatedSince(now - kHour, finding.job) + guilty.size();
  if (in_hour > options_.max_hosts_per_job_hour) {
    return fmt::format("limit: {} hosts of a job per hour", options_.max_hosts_per_job_hour);
  }
  const size_t of_job = AllowedHosts(options_.max_job_share_per_day, jobs_.at(finding.job).hosts.size());
  if (NumIsolatedSince(now - kDay, finding.job) + guilty.size() > of_job) {
    return fmt::format("limit: {} hosts of this job per day", of_job);
  }
  const size_t of_cluster = AllowedHosts(options_.max_cluster_share_per_day, num_cluster_hosts_);
  if (NumIsolatedSince(now - kDay, JobId()) + guilty.size() > of_cluster) {
    return fmt::format("limit: {} hosts of the cluster per day", of_cluster);
  }
  if (spares_.size() < guilty.size() && finding.syndrome != model::Syndrome::kDead) {
    return fmt::format("{} spares for {} hosts", spares_.size(), guilty.size());
  }
  return "";
}

size_t Steering::NumIsolatedSince(SimTime since, JobId job) const {
  return static_cast<size_t>(std::count_if(history_.begin(), history_.end(), [&](const Isolation& isolation) {
    return isolation.at > since && (!job.valid() || isolation.job == job);
  }));
}

void Steering::Begin(SimTime now, const Finding& finding, std::vector<HostId> guilty) {
  Sequence sequence;
  sequence.finding = finding.id;
  sequence.reason = finding.summary;
  sequence.hosts = jobs_.at(finding.job).hosts;
  for (const HostId host : guilty) {
    history_.push_back({now, finding.job});
    isolated_.insert(host);
    sequence.steps.push_back(IsolateHost{host});
  }
  sequence.steps.push_back(StopJob{finding.job});
  for (const HostId host : guilty) {
    const auto place = std::find(sequence.hosts.begin(), sequence.hosts.end(), host);
    if (spares_.empty()) {
      // A dead host is left out even if nobody takes its place.
      sequence.hosts.erase(place);
      continue;
    }
    const HostId spare = *spares_.begin();
    spares_.erase(spares_.begin());
    *place = spare;
    sequence.steps.push_back(TakeSpare{finding.job, spare, host});
  }
  sequence.steps.push_back(RestartJob{finding.job, sequence.hosts});
  sequence.guilty = std::move(guilty);
  sequences_[finding.job] = std::move(sequence);
  Continue(now, finding.job);
}

void Steering::Continue(SimTime, JobId job) {
  Sequence& sequence = sequences_.at(job);
  if (sequence.steps.empty()) {
    sequences_.erase(job);
    return;
  }
  SteeringStep step = std::move(sequence.steps.front());
  sequence.steps.pop_front();
  Tell(std::move(step), sequence.finding, sequence.reason);
  sequence.current = actions_.back();
}

void Steering::Tell(SteeringStep step, model::FindingId finding, std::string reason) {
  actions_.push_back({++num_actions_, std::move(step), finding, std::move(reason)});
}

}  // namespace fairlead::controller
