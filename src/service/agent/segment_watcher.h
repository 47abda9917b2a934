// How often an agent looks at the segments of training processes, on a thread of its own.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/sim_time.h"
#include "model/telemetry.h"
#include "service/agent/once_log.h"
#include "service/agent/segment_folder.h"
#include "service/agent/slurm_jobs.h"
#include "service/agent/worker_thread.h"

namespace fairlead::service {

struct SegmentWatcherOptions {
  std::string folder;  // empty: there is none
  SimDuration period;  // > 0
  // As HostAgentServerOptions::read_symptoms; may be empty.
  std::function<std::vector<model::HostSymptomRecord>()> read_symptoms;
};

class SegmentWatcher {
 public:
  // The pointers outlive it.
  SegmentWatcher(SegmentWatcherOptions options, OnceLog* once, EventInbox* inbox);

  // To be called at each turn of the loop; looks come as events of the inbox (SegmentsSeen).
  void Look(SimTime now);
  // When it wants to be called; Never(): there is no folder, or its work wakes the loop.
  SimTime NextDue() const;

 private:
  const SegmentWatcherOptions options_;
  OnceLog& once_;
  EventInbox& inbox_;
  SimTime next_;
  std::optional<SegmentFolder> segments_;  // of the thread
  SlurmJobsHere slurm_jobs_;               // likewise
  WorkerThread thread_;                    // last: it ends before what it uses
};

}  // namespace fairlead::service
