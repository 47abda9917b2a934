// The jobs of a simulated cluster: a record of each, and which of them run.
//
//     arrival --> Start: a stretch on its GPUs --> Leave: it has ended
//                   ^         |          ^          |
//                   |         +-> EndStretch, Continue: with other iterations, or on other GPUs
//                   |                               |
//                   +---- later, on other GPUs <----+ Suspend
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "controller/cluster_controller.h"
#include "model/flow.h"
#include "model/job.h"
#include "sim/job_record.h"
#include "sim/job_state.h"

namespace fairlead::sim {

class SimulatedJobs {
 public:
  struct Options {
    bool are_resized = false;  // by an allocation policy: each start begins with a restart
    // A job begins at a random instant within its first iteration alone; drawn from `phase_seed`, its id and its start.
    bool random_phase = true;
    uint64_t phase_seed = 1;
    Detail detail = Detail::kCoupled;
    uint32_t num_bins = 1;  // of the timeline
  };

  // Args: jobs: with unique ids.
  SimulatedJobs(std::vector<model::Job> jobs, const Options& options);

  JobRecord& at(JobId job) { return records_.at(job); }
  const JobRecord& at(JobId job) const { return records_.at(job); }
  const std::map<JobId, JobRecord>& all() const { return records_; }
  // By id.
  const std::vector<JobId>& running() const { return running_; }

  // The job has got its GPUs, and holds them from now on. Args: solo: what its iteration takes alone.
  JobRecord& Start(SimTime now, const controller::StartJob& action, const model::Iteration& iteration,
                   const SoloReference& solo);
  // Its iterations are others from now on, the first one at `start`; Never(): none begins any more. The one under way is
  // lost, and the last `num_lost` that have ended will be done again. It keeps its GPUs.
  JobRecord& ChangeIteration(SimTime now, JobId job, const model::Iteration& iteration, const SoloReference& solo,
                             SimTime start, uint64_t num_lost);
  // Its iterations are others from now on, likewise; GPUs may be. EndStretch() leaves no state until Continue().
  void EndStretch(JobId job);
  JobRecord& Continue(SimTime now, JobId job, const model::Iteration& iteration, const SoloReference& solo,
                      SimTime start);
  // It runs no more. False: it did not.
  bool Leave(JobId job);
  // What has left continues later, with the iteration that was under way.
  void Suspend(SimTime now, const controller::SuspendJob& action);

 private:
  Options options_;
  std::map<JobId, JobRecord> records_;
  std::vector<JobId> running_;
};

}  // namespace fairlead::sim
