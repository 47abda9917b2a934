// Paths that switches choose by load while jobs run (traffic::PathChoice).
//
// Method      A flow chooses when a block of its job's phase begins after a silence, and again at every remap while it
//             sends. Flows choose one after the other, so that each sees the ones before; those of one variable that
//             have chosen already count at their top rate. Load of a path: that of the fullest of the links that not
//             all candidates share, if the flow were on it at its top rate. A path that is no better than the present
//             one is not taken. What has been sent is booked on the old paths first.
// Cost        a choice: O(links of its candidates), and a solution of the network under `conga`.
// Guarantees  S equal flows over S equal paths, each as fast as a path, end disjoint under `conga` after S choices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/ids.h"
#include "fluid/flow_table.h"
#include "sim/carried_account.h"
#include "sim/domain_network.h"
#include "sim/domain_time.h"
#include "sim/job_state.h"

namespace fairlead::sim {

class FlowletChooser {
 public:
  // True where a job has flows that choose.
  static bool IsWanted(std::span<JobState* const> jobs);

  // Puts all flows on the paths that their jobs say. Args: capacities [link] bytes/s; carried: books bytes on paths
  // before they change; null: nobody counts. All but capacities outlive this.
  FlowletChooser(std::span<JobState* const> jobs, const DomainTime& time, DomainNetwork* network,
                 const IdVector<LinkId, double>& capacities, CarriedAccount* carried);

  // The job's present phase is about to start; nothing of it sends yet.
  void BeginPhase(uint32_t j);
  // A variable is about to start, after those before it: its flows choose if they were silent for long enough.
  void BeginSending(const FluidVariable& variable);
  void EndSending(const FluidVariable& variable);
  // To be called when all that happens at an instant has happened: flows choose anew when it is time.
  void Renew();
  // When they are to choose although nothing happens; kNeverNs: none is.
  int64_t next_ns() const { return next_ns_; }

 private:
  struct Link {
    uint32_t local = fluid::kNoLink;  // kNoLink: never contended
    double capacity = 0;              // bytes/s
  };
  struct Candidate {
    std::vector<LinkId> path;
    std::vector<uint32_t> links;  // local, that not all candidates of the flow share
  };
  // One choice of one flow.
  struct Question {
    std::span<const Candidate> candidates;
    size_t present = 0;  // candidates.size(): on none of them
    uint64_t hash = 0;
  };

  std::vector<Candidate> MakeCandidates(const model::Path& bundle) const;
  bool WillChoose(const JobState& job, const FluidVariable& variable) const;
  void Choose(const FluidVariable& variable);
  size_t Answer(const FluidVariable& variable, traffic::PathRule rule, const Question& question);
  double LoadOf(const FluidVariable& variable, const Candidate& candidate);
  uint64_t FlowsOn(const FluidVariable& variable, const Candidate& candidate) const;
  void SetRoute(const FluidVariable& variable);
  void Settle(uint32_t j);

  std::span<JobState* const> jobs_;
  const DomainTime* time_;
  DomainNetwork* network_;
  CarriedAccount* carried_;
  std::map<LinkId, Link> links_;                                 // that candidates lead over
  std::vector<std::vector<std::vector<Candidate>>> candidates_;  // [job][flow]
  std::vector<std::vector<fluid::LinkUse>> uses_;                // [variable] of its present route; the last is its own
  std::vector<uint32_t> chosen_;                                 // [local link] flows of the variable that chooses
  int64_t next_ns_ = kNeverNs;
};

}  // namespace fairlead::sim
