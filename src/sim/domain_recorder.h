// What a contention domain writes down for those who watch its jobs: activities, what holds them up and loads of links
// for timelines (run_recording.h), bytes for the profiler of a job (profiling_window.h).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "base/sim_time.h"
#include "sim/domain_network.h"
#include "sim/domain_time.h"
#include "sim/job_state.h"
#include "sim/link_sharing.h"
#include "sim/run_recording.h"

namespace fairlead::sim {

class DomainRecorder {
 public:
  // Args: routes: [job][transfer], read here alone. recorder: null: nobody asks for timelines. The others outlive this.
  DomainRecorder(std::span<JobState* const> jobs, const DomainTime& time, DomainNetwork* network,
                 std::span<const std::vector<TransferRoute>* const> routes, RunRecorder* recorder);

  // To be called before time moves on: rates are what they are up to `until_ns`.
  void RecordRatesUntil(int64_t until_ns) {
    if (is_profiled_) RecordTraffic(until_ns);
    if (IsInWindow()) RecordLoads();
  }
  // From now on another domain says what the jobs send.
  void EndLoads();

  // Args: from: the activity goes on until now. Reads which phase and iteration it is from the job.
  void RecordActivity(uint32_t j, Activity activity, SimTime from) {
    if (recorder_ != nullptr && !jobs_[j]->is_background) AddActivity(j, activity, from);
  }
  // Since `from_ns` the phase of job j has been slower than alone, mostly for `reason`. Args: missing: 0..1.
  void RecordHeldUp(uint32_t j, const DelayShare& reason, double missing, int64_t from_ns);
  bool records_timelines() const { return recorder_ != nullptr; }

  // How far jumps may go, at most to `limit_ns`: neither into the window that is recorded, nor within it, and nowhere
  // while a job is being profiled.
  int64_t JumpLimitNs(int64_t limit_ns) const;

 private:
  bool IsInWindow() const { return recorder_ != nullptr && recorder_->Covers(time_->now()); }
  void RecordTraffic(int64_t until_ns);
  void RecordLoads();
  void AddLoads(const FluidVariable& variable, std::map<LinkId, double>* loads) const;
  void AddActivity(uint32_t j, Activity activity, SimTime from);

  std::span<JobState* const> jobs_;
  const DomainTime* time_;
  DomainNetwork* network_;
  RunRecorder* recorder_;
  // [variable] links whose load is followed, and how much of its rate they carry; empty without recorder
  std::vector<std::vector<std::pair<LinkId, double>>> links_;
  std::vector<std::set<LinkId>> loaded_;  // [job] on which it has a load, as last recorded
  bool is_profiled_;                      // one of the jobs
};

}  // namespace fairlead::sim
