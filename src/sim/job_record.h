// What a simulation of a cluster knows of one of its jobs, from its arrival to its result.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/sim_time.h"
#include "base/units.h"
#include "model/flow.h"
#include "model/job.h"
#include "sim/job_state.h"
#include "sim/run_result.h"

namespace fairlead::sim {

// A time of a job on GPUs that it has released.
struct Stretch {
  std::unique_ptr<JobState> state;
  Flop work;  // per iteration
  SimTime held_from;
  bool is_transfer = false;  // of the state of workers that migrate: no training
};
struct JobRecord {
  model::Job job;
  std::unique_ptr<model::Iteration> iteration;  // null until placed, and when the job has ended
  std::unique_ptr<JobState> state;              // null until placed
  model::Placement placement;                   // of `state`
  SimTime held_from;                            // when it got its GPUs
  bool is_transfer = false;                     // `state` is the transfer of its workers' state
  std::vector<Stretch> past;                    // before `state`, by time
  std::vector<SizeChange> sizes;
  uint64_t past_iterations = 0;   // of `past`, but for those to be repeated
  uint64_t num_repeated = 0;      // iterations that a failure made the job do again
  std::vector<WorkerMove> moves;  // by time
  SimTime hold_end;               // when its hold time is over; Never() without one
  Flop work;                      // per iteration
  double gpu_intensity = 0;       // FLOP/s; 0 without network traffic
  uint32_t priority_rank = 0;
  std::string reason;
  std::optional<ProfilingError> profiling_error;
};

// All stretches of a job, with the one under way or the last one.
struct StretchView {
  const JobState* state;
  Flop work;
  SimTime held_from;
  bool is_over;      // the job has given these GPUs back to get others, or none
  bool is_first;     // of the job
  bool is_transfer;  // Stretch::is_transfer
};

inline std::vector<StretchView> StretchesOf(const JobRecord& record) {
  std::vector<StretchView> stretches;
  for (const Stretch& past : record.past) {
    stretches.push_back({past.state.get(), past.work, past.held_from, true, stretches.empty(), past.is_transfer});
  }
  if (record.state != nullptr) {
    stretches.push_back(
        {record.state.get(), record.work, record.held_from, false, stretches.empty(), record.is_transfer});
  }
  return stretches;
}

}  // namespace fairlead::sim
