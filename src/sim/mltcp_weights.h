// The weights of flows that push harder the more of their iteration they have sent (traffic::Aggressiveness).
//
// Method      Weights are renewed at every event of the domain, and between events at least as often as the most
//             impatient job wants. On one link weights of jobs with equal T grow by the same factor while they overlap,
//             so that the shares are exact between renewals; elsewhere they lag by less than one.
// Cost        a renewal: O(variables that send) and a solution of the network.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/domain_network.h"
#include "sim/domain_time.h"
#include "sim/job_state.h"

namespace fairlead::sim {

class MltcpWeights {
 public:
  // True where a job has such flows.
  static bool AreWanted(std::span<JobState* const> jobs);

  // All outlive this.
  MltcpWeights(std::span<JobState* const> jobs, const DomainTime& time, DomainNetwork* network);

  // To be called when all that happens at an instant has happened.
  void Renew();
  // When they are to be renewed although nothing happens; kNeverNs: no such flow sends.
  int64_t next_ns() const { return next_ns_; }

 private:
  double SentOf(const FluidVariable& variable) const;
  double SentOfJob(uint32_t j) const;

  std::span<JobState* const> jobs_;
  const DomainTime* time_;
  DomainNetwork* network_;
  std::vector<double> iteration_bytes_;  // [job]
  int64_t most_between_ns_ = kNeverNs;
  int64_t next_ns_ = kNeverNs;
};

}  // namespace fairlead::sim
