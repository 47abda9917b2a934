// One run of a training job as its processes tell of it: an all-reduce of all ranks in each iteration, until one of the
// ranks does not come.
//
//     iteration i       computing          all-reduce i of all ranks
//                 |------------------|===========================|      a rank that is stuck or gone begins none any
//               begin + i T        + 0.3 T                  begin + (i+1) T      more: that of the others stays pending
//
// Differs     from execution/: one communicator, no messages, all ranks alike; but a process costs nothing until an
//             agent looks at it, so that thousands of runs a minute can be watched.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/sim_time.h"
#include "telemetry/process_report.h"

namespace fairlead::sim::chaos {

class TrainingRun {
 public:
  // Args: pids [rank]; iteration > 0.
  TrainingRun(std::string job, uint64_t communicator, std::vector<int32_t> pids, SimTime begin, SimDuration iteration);

  // The rank begins nothing any more. The first one counts.
  void Stall(size_t rank, SimTime now);
  uint64_t communicator() const { return communicator_; }
  bool is_stalled() const { return stuck_.has_value(); }
  // Nothing of the process is pending.
  bool IsIdle(size_t rank, SimTime now) const;

  // What the process of this rank has to say of the time after `since`, on the clock of its host. Args: clock: of the
  // host less virtual time.
  telemetry::ProcessReport Report(size_t rank, SimTime since, SimTime now, SimDuration clock) const;

 private:
  uint64_t NumFinished(SimTime now) const;
  SimTime EnqueuedAt(uint64_t operation) const;

  std::string job_;
  uint64_t communicator_;
  std::vector<int32_t> pids_;
  SimTime begin_;
  SimDuration iteration_;
  std::optional<size_t> stuck_;
  uint64_t num_finished_at_stall_ = 0;
};

}  // namespace fairlead::sim::chaos
