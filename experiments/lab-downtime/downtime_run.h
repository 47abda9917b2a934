// A job of a lab through some minutes with faults: how much of the time did it train?
//
// With C4D      findings are acted upon: steering isolates, takes a spare, restarts. The watchdog below is there, too,
//               for jobs that are stalled and not placed.
// Without       the launcher restarts a job when one of its processes has ended, as elastic launchers do, or when it
//               has not moved for as long as a watchdog waits, as PyTorch does for NCCL. A host that has failed is
//               replaced by a spare then, which is better than in practice, where people have to search for it.
// Downtime      1 - iterations that were kept * usual seconds of one / seconds of the run. What a checkpoint had not is
//               lost, so are restarts and iterations that were slow.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "lab/lab_faults.h"
#include "lab/steered_lab.h"

namespace fairlead::experiments::lab_downtime {

struct TimedFault {
  double at_s = 0;  // of the run
  lab::LabFault fault;
};

struct DowntimeOptions {
  double seconds = 1800;
  double watchdog_s = 600;  // PyTorch's for NCCL
  size_t num_hosts = 0;     // of the lab; some of them spare
  bool has_c4d = true;
  std::vector<TimedFault> faults;  // by time, at least the time of a restart apart
};

// How far the job was at some time; of iterations that a restart does again only the last time counts.
struct ProgressPoint {
  double at_s = 0;  // of the run
  uint64_t iterations = 0;
};

struct DowntimeRun {
  double usual_iteration_s = 0;  // before the first fault
  uint64_t iterations = 0;       // done and kept
  double seconds = 0;
  uint32_t restarts = 0;
  std::vector<ProgressPoint> progress;  // by time, at most one a second
  std::vector<std::string> notes;       // what happened when, for people

  double DowntimeShare() const;
};

// Args: the lab has acts = has_c4d; its first job does not run yet. Errors: those of SteeredLab.
Result<DowntimeRun> RunWithFaults(lab::SteeredLab* lab, const DowntimeOptions& options);

}  // namespace fairlead::experiments::lab_downtime
