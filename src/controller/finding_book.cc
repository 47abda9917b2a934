#include "controller/finding_book.h"

#include <algorithm>
#include <set>

namespace fairlead::controller {

using model::Finding;
using model::FindingId;
using model::FindingState;

void FindingBook::Restore(FindingId last) { num_findings_ = std::max(num_findings_, last.value()); }

bool FindingBook::Keep(const std::string& job, const Finding& finding) {
  const bool is_new = findings_.insert_or_assign(finding.id, WatchedFinding{job, finding}).second;
  are_judgements_stale_ = true;
  if (finding.state == FindingState::kCleared) over_.push_back(finding.id);
  for (; over_.size() > num_over_max_; over_.pop_front()) findings_.erase(over_.front());
  return is_new;
}

const WatchedFinding* FindingBook::Find(FindingId id) const {
  const auto found = findings_.find(id);
  return found == findings_.end() ? nullptr : &found->second;
}

std::vector<WatchedFinding> FindingBook::All() const {
  std::vector<WatchedFinding> all;
  for (const auto& [id, finding] : findings_) all.push_back(finding);
  return all;
}

std::string FindingBook::JobName(JobId job) const {
  const auto found = std::ranges::find(findings_, job, [](const auto& entry) { return entry.second.finding.job; });
  return found == findings_.end() ? "" : found->second.job;
}

void FindingBook::KeepProof(FindingId id, model::FindingProof proof) {
  proofs_[id] = std::move(proof);
  while (proofs_.size() > num_proofs_max_) proofs_.erase(proofs_.begin());
}

std::optional<model::FindingProof> FindingBook::FindProof(FindingId id) const {
  const auto kept = proofs_.find(id);
  return kept == proofs_.end() ? std::nullopt : std::optional(kept->second);
}

std::vector<std::pair<HostId, HostJudged>> FindingBook::TakeJudged() {
  if (!std::exchange(are_judgements_stale_, false)) return {};
  std::map<HostId, HostJudged> now;
  for (const auto& [id, watched] : findings_) {
    const Finding& finding = watched.finding;
    if (finding.state != FindingState::kConfirmed) continue;
    std::set<HostId> hosts;
    for (const model::Culprit& culprit : finding.culprits) hosts.insert(culprit.host);
    for (const HostId host : hosts) {
      if (!host.valid()) continue;
      now[host].findings.push_back({watched.job, finding.syndrome, finding.summary, finding.action});
    }
  }
  std::vector<std::pair<HostId, HostJudged>> changed;
  for (const auto& [host, before] : judged_) {
    if (!now.contains(host)) changed.emplace_back(host, HostJudged());
  }
  for (const auto& [host, judged] : now) {
    const auto before = judged_.find(host);
    if (before == judged_.end() || before->second != judged) changed.emplace_back(host, judged);
  }
  judged_ = std::move(now);
  std::ranges::sort(changed, {}, [](const auto& one) { return one.first; });
  return changed;
}

}  // namespace fairlead::controller
