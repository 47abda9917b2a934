// How far the jobs of a contention domain have come on their compute clocks, and when each of them has to be looked at
// although no transfer has ended.
//
// Method      The compute clock of a job stands, or runs and ends in a timer: at the start of its next phase, at the
//             first blocking phase that is not over, or at the end of its iteration. A phase whose bytes are sent ends
//             in a timer, too. JobState::progress_ns is what it
//             showed at the last Sync(); what it computes goes to the busy GPU-seconds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/sim_time.h"
#include "sim/domain_recorder.h"
#include "sim/domain_time.h"
#include "sim/job_state.h"
#include "sim/period_detector.h"
#include "sim/timeline.h"

namespace fairlead::sim {

// What a job is given without being simulated.
struct JobJump {
  uint64_t iterations = 0;
  std::span<const uint64_t> phase_runs;  // [phase]
  SimDuration skipped;
  double error_ns = 0;  // bound on how much earlier or later they may end
};

class JobClocks {
 public:
  // All clocks stand; timers are set for the jobs that have yet to begin. Args: time: 0 on the local clock. All outlive
  // this.
  JobClocks(std::span<JobState* const> jobs, const DomainTime& time, BinnedSum* busy, DomainRecorder* recorder);

  // kNeverNs: there is none.
  int64_t NextTimerNs() const {
    int64_t next = kNeverNs;
    for (const Clock& clock : clocks_) next = std::min(next, clock.timer_ns);
    return next;
  }
  bool IsDue(uint32_t j) const { return clocks_[j].timer_ns <= time_->local_ns; }
  bool is_computing(uint32_t j) const { return clocks_[j].is_computing; }
  // False while the start of its iteration is still to come.
  bool has_begun(uint32_t j) const { return clocks_[j].has_begun; }

  // Its iteration begins now.
  void Begin(uint32_t j) { clocks_[j].has_begun = true; }
  // An iteration is about to begin. True when it shall begin later, to meet the job's time shift; its timer is set then.
  bool WaitForShift(uint32_t j);
  // It has finished.
  void Stop(uint32_t j) {
    clocks_[j].timer_ns = kNeverNs;
    clocks_[j].is_computing = false;
  }

  // Brings progress_ns up to now.
  void Sync(uint32_t j) {
    if (clocks_[j].is_computing && clocks_[j].computing_since_ns != time_->local_ns) AddProgress(j);
  }
  // Starts or stops the clock as the job's phases allow, and sets its timer, to the end of the phase if that is first.
  // Needs Sync().
  void SetTimer(uint32_t j);

  // Moves the job's counters on, with all bins of accounts that the skipped time covers. Local time stays where it is.
  void Jump(uint32_t j, const JobJump& jump);

  // What of job j must be the same for its future to be the same, but for transfers.
  void AppendState(uint32_t j, DomainSnapshot* snapshot) const;

  // Of the bins of busy GPU-seconds and of JobState::activity.
  int64_t bin_ns() const { return busy_->bin_ns(); }

 private:
  struct Clock {
    int64_t timer_ns = kNeverNs;  // local
    int64_t computing_since_ns = 0;
    bool is_computing = false;
    bool has_begun = false;
  };

  void AddProgress(uint32_t j);

  std::span<JobState* const> jobs_;
  const DomainTime* time_;
  BinnedSum* busy_;
  DomainRecorder* recorder_;
  std::vector<Clock> clocks_;  // [job]
};

}  // namespace fairlead::sim
