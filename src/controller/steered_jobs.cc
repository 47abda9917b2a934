#include "controller/steered_jobs.h"

#include <algorithm>
#include <utility>

namespace fairlead::controller {

const SteeredJob* SteeredJobs::Find(JobId job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? nullptr : &found->second;
}

bool SteeredJobs::IsOfAny(HostId host) const {
  return std::ranges::any_of(jobs_, [&](const auto& entry) {
    const std::vector<HostId>& hosts = entry.second.hosts;
    return std::ranges::find(hosts, host) != hosts.end();
  });
}

SimTime SteeredJobs::PausedUntil(JobId job) const {
  const SteeredJob* found = Find(job);
  return found == nullptr ? SimTime() : found->paused_until;
}

void SteeredJobs::Take(SimTime now, const JobRunning& event) {
  SteeredJob& job = jobs_[event.job];
  job.can_shrink = event.can_shrink;
  job.has_unverified_owner = !event.is_owner_verified;
  job.host_choice = event.host_choice;
  if (event.is_new_run || job.hosts != event.hosts) job.needs_operator = false;
  const bool has_moved = !job.hosts.empty() && job.hosts != event.hosts;
  if (has_moved) job.held_up.clear();
  // A resize is like a first start, which is not held off either.
  if (has_moved && job.host_choice == HostChoice::kRestart) {
    job.hold_off_until = std::max(job.hold_off_until, now + hold_off_);
  }
  job.hosts = event.hosts;
}

std::vector<HostId> SteeredJobs::TakeRestart(SimTime now, JobId id, const std::vector<HostId>& hosts) {
  SteeredJob& job = jobs_.at(id);
  job.hold_off_until = now + hold_off_;
  job.held_up.clear();  // what was found about the run before
  return std::exchange(job.hosts, hosts);
}

bool SteeredJobs::Take(const PauseAnnounced& event) {
  const auto found = jobs_.find(event.job);
  if (found == jobs_.end() || found->second.paused_until == event.until) return false;
  found->second.paused_until = event.until;
  found->second.pause_reason = event.reason;
  return true;
}

bool SteeredJobs::Hear(const model::Finding& finding) {
  const auto found = jobs_.find(finding.job);
  if (found == jobs_.end()) return false;
  SteeredJob& job = found->second;
  if (finding.state == model::FindingState::kCleared) job.held_up.erase(finding.id);
  if (finding.state != model::FindingState::kConfirmed) return false;
  if (job.judged.insert({finding.id, finding.first_seen}).second) return true;
  const auto held_up = job.held_up.find(finding.id);
  if (held_up != job.held_up.end()) held_up->second.finding = finding;
  return false;
}

void SteeredJobs::HoldUp(const model::Finding& finding, std::string_view rule) {
  jobs_.at(finding.job).held_up.insert_or_assign(finding.id, SteeredJob::HeldUp{finding, std::string(rule)});
}

std::string_view SteeredJobs::RuleOf(const model::Finding& finding) const {
  const auto& held_up = jobs_.at(finding.job).held_up;
  const auto found = held_up.find(finding.id);
  return found == held_up.end() ? std::string_view() : found->second.rule;
}

std::vector<model::Finding> SteeredJobs::AllHeldUp() const {
  std::vector<model::Finding> findings;
  for (const auto& [id, job] : jobs_) {
    for (const auto& [number, held_up] : job.held_up) findings.push_back(held_up.finding);
  }
  return findings;
}

void SteeredJobs::BeginAnew(SimTime now) {
  for (auto& [id, job] : jobs_) {
    job.judged.clear();
    job.held_up.clear();
    job.hold_off_until = std::min(job.hold_off_until, now + hold_off_);
  }
}

SteeredJobs::Kept SteeredJobs::Keep(const SteeredJob& job) {
  Kept kept{job};
  kept.job.held_up.clear();
  for (const auto& [number, held_up] : job.held_up) kept.held_up.push_back(held_up);
  return kept;
}

void SteeredJobs::Restore(JobId id, Kept kept) {
  for (SteeredJob::HeldUp& held_up : kept.held_up) {
    const model::FindingId number = held_up.finding.id;
    kept.job.held_up.insert_or_assign(number, std::move(held_up));
  }
  jobs_[id] = std::move(kept.job);
}

}  // namespace fairlead::controller
