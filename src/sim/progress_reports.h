// What the controller is told of how running jobs get on: iterations where sizes change, speeds where policies need
// them.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "base/units.h"
#include "controller/cluster_controller.h"
#include "sim/simulated_jobs.h"

namespace fairlead::sim {

class ProgressReports {
 public:
  // Args: speed_interval: how often speeds are reported, >= 0; 0: never.
  explicit ProgressReports(SimDuration speed_interval);

  // When speeds are due; Never(): they are not reported.
  SimTime next_speeds() const { return next_speeds_; }
  // The job begins to run, with its first iteration at `start`; what was reported before is over.
  void Begin(JobId job, SimTime start) { reported_[job] = {.iteration_end = start}; }

  // Both need jobs that are up to date, and append to `events`.
  //
  // How far the running jobs have come, and how long their iterations took since the last report.
  void ReportProgress(const SimulatedJobs& jobs, std::vector<controller::Event>* events);
  // How fast each computed since the last report, against its speed alone, and for how long it has been starved.
  void ReportSpeeds(SimTime now, const SimulatedJobs& jobs, std::vector<controller::Event>* events);

 private:
  // Of a running job, by the last report.
  struct Reported {
    uint64_t iterations = 0;
    SimTime iteration_end = {};  // of the last one
    double progress_s = 0;       // seconds of its time alone
    Seconds starved_for = {};
  };

  SimDuration speed_interval_;
  SimTime next_speeds_ = SimTime::Never();
  std::map<JobId, Reported> reported_;
};

}  // namespace fairlead::sim
