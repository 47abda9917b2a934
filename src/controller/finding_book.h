// The findings about all jobs: those that hold, the latest that are over, their proofs, and what they say of hosts.
//
// Cost        O(log of findings) for each; TakeJudged() O(findings) where one has changed.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "controller/host_messages.h"
#include "model/finding.h"
#include "model/finding_proof.h"

namespace fairlead::controller {

// A finding of a job that runs, or ran.
struct WatchedFinding {
  std::string job;
  model::Finding finding;
};

class FindingBook {
 public:
  // Args: findings that are over, and proofs of runs that are, to be kept at most; the oldest go first.
  FindingBook(size_t num_over_max, size_t num_proofs_max)
      : num_over_max_(num_over_max), num_proofs_max_(num_proofs_max) {}

  // Numbers continue after that one.
  void Restore(model::FindingId last);
  // From 1; never used again.
  model::FindingId NextNumber() { return model::FindingId(++num_findings_); }

  // Adds it or replaces what was known of it. Returns whether it is new.
  bool Keep(const std::string& job, const model::Finding& finding);
  // Null: it is not known, or not any more.
  const WatchedFinding* Find(model::FindingId id) const;
  // All that hold and the latest ones that are over, by number.
  std::vector<WatchedFinding> All() const;
  // Of a job that a finding in All() is about; empty: none.
  std::string JobName(JobId job) const;

  // Of a run that is over.
  void KeepProof(model::FindingId id, model::FindingProof proof);
  std::optional<model::FindingProof> FindProof(model::FindingId id) const;

  // Of hosts about which other findings hold than at the call before, what holds now; by host.
  std::vector<std::pair<HostId, HostJudged>> TakeJudged();

 private:
  const size_t num_over_max_;
  const size_t num_proofs_max_;
  uint32_t num_findings_ = 0;  // ever
  std::map<model::FindingId, WatchedFinding> findings_;
  std::deque<model::FindingId> over_;                       // of findings_, in order of their end
  std::map<model::FindingId, model::FindingProof> proofs_;  // of runs that are over
  std::map<HostId, HostJudged> judged_;                     // as taken
  bool are_judgements_stale_ = false;
};

}  // namespace fairlead::controller
