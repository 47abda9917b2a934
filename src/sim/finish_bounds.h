// When can a job of a contention domain finish at the earliest?
//
// Others are simulated up to that instant, so a bound once given must hold, whatever is skipped later.
//
// Method      No iteration that begins in the domain is shorter than with its top rate in every phase. Of an iteration
//             that began before, under other rates, only what comes after it is known.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/sim_time.h"
#include "sim/domain_network.h"
#include "sim/domain_time.h"
#include "sim/job_state.h"

namespace fairlead::sim {

class FinishBounds {
 public:
  // Args: jobs: at least one. time: as the domain begins. jobs and time outlive this.
  FinishBounds(std::span<JobState* const> jobs, const DomainTime& time, const DomainNetwork& network);

  // The job with the longest least iteration.
  uint32_t slowest_job() const { return slowest_job_; }
  // No iteration of job j that begins in this domain is shorter.
  int64_t LeastIterationNs(uint32_t j) const { return least_iteration_ns_[j]; }
  void EndIteration(uint32_t j) { began_before_[j] = 0; }

  // No job finishes before; Never() when none has an end. A promise from then on. Args: next_event_ns: local, nothing
  // happens before.
  SimTime Promise(int64_t next_event_ns);
  // How much sooner than its least iterations allow job j may finish without breaking a promise.
  int64_t SlackNs(uint32_t j) const;

 private:
  int64_t BoundNs(uint32_t j, int64_t next_event_ns) const;

  std::span<JobState* const> jobs_;
  const DomainTime* time_;
  std::vector<int64_t> least_iteration_ns_;  // [job]
  std::vector<uint8_t> began_before_;        // [job] its iteration is older than the domain
  uint32_t slowest_job_ = 0;
  int64_t promised_ns_ = 0;  // simulated time, the latest so far
};

}  // namespace fairlead::sim
