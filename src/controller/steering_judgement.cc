#include "controller/steering_judgement.h"

#include <fmt/format.h>

#include <algorithm>

namespace fairlead::controller {
namespace {

using model::Finding;
using model::RecommendedAction;

// What one process, counter or message can say by itself moves nothing.
constexpr size_t kSignsMin = 2;
constexpr SimDuration kLimitsHour(3'600'000'000'000);

// A share of so many hosts, at least one: small jobs have faults, too.
size_t AllowedHosts(double share, size_t num_hosts) {
  return std::max<size_t>(1, static_cast<size_t>(share * static_cast<double>(num_hosts)));
}

std::string HostCount(size_t count) { return fmt::format("{} host{}", count, count == 1 ? "" : "s"); }

// In what the finding says, whatever else holds.
Objection FindWeakness(const SteeringView& view, const Finding& finding, const std::vector<HostId>& guilty) {
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
  if (finding.action == RecommendedAction::kIsolateAndRestart && guilty.empty()) {
    return {"no host", "names no host of the job"};
  }
  const size_t num_hosts = view.job.hosts.size();
  const auto suspicious = static_cast<size_t>(view.options.suspect_fabric_share * static_cast<double>(num_hosts));
  if (guilty.size() > std::max<size_t>(1, suspicious)) {
    return {"fabric",
            fmt::format("{} of {} hosts look guilty: suspect the fabric or the detector", guilty.size(), num_hosts)};
  }
  if (finding.confidence < view.options.min_confidence) {
    return {"confidence", fmt::format("confidence is only {:.2f}", finding.confidence)};
  }
  if (view.job.has_unverified_owner)
    return {"owner", "the job's owner is not verified, or the operator's map of jobs does not allow action on it"};
  if (finding.signs.size() < kSignsMin) {
    const std::string known = finding.signs.empty() ? "no sign" : fmt::format("{} alone", Name(finding.signs.front()));
    return {"signs", fmt::format("known by {}, and two independent signs are needed", known), true};
  }
  return {};
}

// In what is under way, was announced, or has just been.
Objection FindHindrance(const SteeringView& view, const Finding& finding, const std::vector<HostId>& guilty) {
  const SteeredJob& job = view.job;
  if (job.needs_operator) return {"operator", "an action on the job was given up; an operator has to look first", true};
  if (view.sequences.contains(finding.job)) return {"busy", "another action on the job is under way", true};
  const bool is_returning = std::ranges::any_of(guilty, [&](HostId host) { return view.hosts.IsReturning(host); });
  if (is_returning) return {"returning", "the host was isolated, and its return is under way", true};
  for (const auto& other : view.sequences) {
    const SteeringSequence& sequence = other.second;  // by a name that Clang 14 lets lambdas capture
    const bool is_shared = !sequence.waits_for_spare && std::ranges::any_of(guilty, [&](HostId host) {
      return std::ranges::count(sequence.hosts, host) > 0;
    });
    if (is_shared) return {"shared", "an action on another job of that host is under way", true};
  }
  if (view.now < job.paused_until) {
    return {"pause", "a pause of the job was announced (" + job.pause_reason + ")", true};
  }
  if (view.now < job.hold_off_until) {
    const double seconds = (job.hold_off_until - view.now).seconds().value();
    return {"hold-off", fmt::format("the job restarted recently; wait {:.0f} s", seconds), true};
  }
  return {};
}

Objection FindLimit(const SteeringView& view, const Finding& finding, const std::vector<HostId>& guilty) {
  const std::vector<HostId>& hosts = view.job.hosts;
  const size_t num_to_replace = guilty.size() + static_cast<size_t>(std::ranges::count_if(hosts, [&](HostId host) {
                                  return view.hosts.IsIsolated(host) && std::ranges::count(guilty, host) == 0;
                                }));
  const size_t num_spares = view.hosts.spares().size();
  if (!view.job.is_allocated() && num_spares < num_to_replace && finding.syndrome != model::Syndrome::kDead) {
    return {"spares", fmt::format("{} spares for {}", num_spares, HostCount(num_to_replace)), true};
  }
  if (guilty.empty()) return {};
  const auto with_lately = [&](SimDuration span, JobId job) {
    return view.history.NumSince(view.now - span, job) + guilty.size();
  };
  const uint32_t in_hour = view.options.max_hosts_per_job_hour;
  if (with_lately(kLimitsHour, finding.job) > in_hour) {
    return {"hour", fmt::format("limit: {} of a job per hour", HostCount(in_hour)), true};
  }
  const size_t of_job = AllowedHosts(view.options.max_job_share_per_day, hosts.size());
  if (with_lately(kSteeringLimitsMemory, finding.job) > of_job) {
    return {"job day", fmt::format("limit: {} of this job per day", HostCount(of_job)), true};
  }
  const size_t of_cluster = AllowedHosts(view.options.max_cluster_share_per_day, view.num_cluster_hosts);
  if (with_lately(kSteeringLimitsMemory, JobId()) > of_cluster) {
    return {"cluster day", fmt::format("limit: {} of the cluster per day", HostCount(of_cluster)), true};
  }
  return {};
}

}  // namespace

std::vector<HostId> GuiltyHosts(const SteeredJob& job, const Finding& finding) {
  if (finding.action != RecommendedAction::kIsolateAndRestart) return {};
  std::vector<HostId> guilty;
  for (const model::Culprit& culprit : finding.culprits) {
    if (std::ranges::find(job.hosts, culprit.host) != job.hosts.end()) guilty.push_back(culprit.host);
  }
  std::sort(guilty.begin(), guilty.end());
  guilty.erase(std::unique(guilty.begin(), guilty.end()), guilty.end());
  return guilty;
}

Objection FindObjection(const SteeringView& view, const Finding& finding, const std::vector<HostId>& guilty) {
  if (Objection weakness = FindWeakness(view, finding, guilty); !weakness.rule.empty()) return weakness;
  if (view.options.mode == SteeringMode::kObserve) return {"observe", "observing only"};
  if (Objection hindrance = FindHindrance(view, finding, guilty); !hindrance.rule.empty()) return hindrance;
  if (Objection limit = FindLimit(view, finding, guilty); !limit.rule.empty()) return limit;
  if (view.options.mode == SteeringMode::kAct) return {};
  return {"recommend", "recommended"};
}

}  // namespace fairlead::controller
