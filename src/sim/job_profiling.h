// The job that is being profiled (controller.profile_jobs): its window, and what was measured when that is over.
//
//     Begin --> end() comes --> Read: measured, or no period yet: the window grows, up to window_max --> ..
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "model/measured_profile.h"
#include "sim/job_state.h"
#include "sim/link_sharing.h"
#include "sim/profiling_window.h"
#include "sim/run_result.h"
#include "topology/fabric.h"

namespace fairlead::sim {

class JobProfiling {
 public:
  struct Measured {
    JobId job;
    model::MeasuredProfile profile;
    std::optional<ProfilingError> error = {};  // nothing: no period was seen, or the job sends nothing over NICs
  };

  // The fabric must outlive this. Args: window: how long a job is profiled; window_max: how long at most where the first
  // window shows no period.
  JobProfiling(const topology::Fabric& fabric, SimDuration window, SimDuration window_max)
      : fabric_(fabric), length_(window), length_max_(window_max) {}

  // The job must be up to date at `now`, and stay where it is in memory until the end; routes [transfer].
  void Begin(JobState* job, const std::vector<TransferRoute>& routes, SimTime now);
  // Of the window; Never(): no job is profiled.
  SimTime end() const { return end_; }
  // That is profiled; only while one is.
  JobId job() const { return window_->job(); }
  // At end(), with `job`, that is profiled, up to date. Nothing: the window grows. Otherwise it is over.
  std::optional<Measured> Read(const JobState& job, SimTime now);
  // The job ends, or is stopped; others change nothing.
  void Cancel(JobId job);

 private:
  void Reset();

  const topology::Fabric& fabric_;
  SimDuration length_;
  SimDuration length_max_;
  std::unique_ptr<ProfilingWindow> window_;  // null: none
  SimTime end_ = SimTime::Never();
};

}  // namespace fairlead::sim
