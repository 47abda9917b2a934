// What of a contention domain need not be simulated: where its jobs repeat themselves, all that is counted moves on by
// whole periods at once, and where they don't, but keep their mean speeds, by those.
//
// Method      At each end of an iteration of the slowest job the state of the domain is compared with earlier ones
//             (period_detector.h). Where none of them returns, mean speeds are taken once they have settled
//             (rate_window.h); from then on the domain continues at them whenever there is room, and the rest of the
//             iterations under way is simulated from its present state.
// Guarantees  The end of a job is always simulated. None comes before a promise of FinishBounds.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "base/sim_time.h"
#include "sim/delay_account.h"
#include "sim/domain_counters.h"
#include "sim/domain_delays.h"
#include "sim/domain_network.h"
#include "sim/domain_time.h"
#include "sim/finish_bounds.h"
#include "sim/job_clocks.h"
#include "sim/job_state.h"
#include "sim/period_detector.h"
#include "sim/rate_window.h"

namespace fairlead::sim {

class FastForward {
 public:
  // Args: time: as the domain begins; jumps move its offset. extrapolates: continue at mean speeds, too. All outlive
  // this.
  FastForward(std::span<JobState* const> jobs, DomainTime* time, DomainNetwork* network, JobClocks* clocks,
              DomainDelays* delays, const FinishBounds& bounds, bool extrapolates);

  // An iteration of job j ends now.
  void RecordIteration(uint32_t j) {
    if (extrapolates_ && !settled_rates_) rate_window_.Add(j, time_->local_ns);
  }
  // To be called when the slowest job has ended an iteration, and nothing is left to do at this instant. Skips what it
  // can, up to the local time `limit_ns`.
  void Try(int64_t limit_ns);

 private:
  bool TryPeriods(int64_t limit_ns);
  DomainSnapshot TakeSnapshot() const;
  int64_t PeriodsThatFit(const Period& period, const DomainCounters& then, int64_t limit_ns) const;
  void JumpPeriods(const Period& period, const DomainCounters& then, int64_t num_periods);
  void ScaleLosses(std::span<const uint64_t> iterations, SimDuration skipped, std::vector<LostTime>* losses) const;

  void TryMeanSpeeds(int64_t limit_ns);
  int64_t LengthToExtrapolate(int64_t limit_ns) const;
  void Extrapolate(uint32_t j, int64_t length_ns);
  uint64_t WholeIterations(uint32_t j, double owed, int64_t length_ns) const;

  std::span<JobState* const> jobs_;
  DomainTime* time_;
  DomainNetwork* network_;
  JobClocks* clocks_;
  DomainDelays* delays_;
  const FinishBounds* bounds_;
  const bool extrapolates_;
  const SimTime start_;

  PeriodDetector detector_;
  std::deque<DomainCounters> counters_;  // beside the detector's history, and at its last look
  RateWindow rate_window_;
  std::optional<SettledRates> settled_rates_;
};

}  // namespace fairlead::sim
