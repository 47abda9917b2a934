// What readings of Slurm have shown: written by the engine's thread, looked at by any.
//
// A reading that fails leaves the state of the last one that did not: observers see it, with the error beside it. What
// acts on a state is handed the one that was read just now.
//
// Thread      any: the mutex guards all of it, and nothing is called while it is held.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "base/sim_time.h"
#include "base/status.h"
#include "base/units.h"
#include "service/controller/scheduler_engine.h"
#include "slurm/cluster_state.h"
#include "slurm/job_places.h"

namespace fairlead::slurm {

class Readings {
 public:
  struct Shown {
    std::shared_ptr<const ClusterState> state;  // of the last reading that succeeded; null: none has
    SimTime read_at;                            // when that was
    Status status;                              // of the last one
    // Of readings, and of what they have shown; nothing of actions and sizes.
    service::SchedulerNumbers numbers = {};
  };

  // A reading is over. Args: length: that it took.
  void Note(const Status& status, Seconds length);
  // What it has shown. Args: num_unknown_hosts: that the fabric has not.
  void Show(std::shared_ptr<const ClusterState> state, size_t num_unknown_hosts, SimTime read_at);
  // Jobs that are stopped by us and not placed yet.
  void SetJobsStopped(size_t num_jobs);

  Shown shown() const;
  std::shared_ptr<const ClusterState> state() const;
  std::shared_ptr<const JobPlaces> places() const;  // of that state

 private:
  mutable std::mutex mutex_;
  Shown shown_;
  std::shared_ptr<const JobPlaces> places_ = std::make_shared<JobPlaces>();
};

}  // namespace fairlead::slurm
