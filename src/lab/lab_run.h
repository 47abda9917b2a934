// Runs the jobs of a workload in a lab and measures them.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "lab/lab_counters.h"
#include "lab/lab_folder.h"
#include "lab/lab_recording.h"
#include "lab/lab_state.h"
#include "lab/lab_workload.h"
#include "lab/trainer_process.h"

namespace fairlead::lab {

// Something to do while jobs run: break a cable, end a process.
struct LabDeed {
  double at_s = 0;  // of the measured time
  std::function<Status()> act;
};

struct LabRunOptions {
  TrainerPrograms programs;
  double seconds = 30;              // that are measured, after the warm-up; > 0
  double warm_up_s = 2;             // after the last connection is established; >= 0
  std::string jobs_folder;          // where plans and records go; its old content is removed
  std::vector<LabDeed> deeds = {};  // by time
  // Records what happens, and has it whatever becomes of the run; programs.records_phases is then true. Null: nobody
  // wants to know.
  LabRecorder* recorder = nullptr;
};

struct LabIteration {
  double begin_s = 0;  // of the measured time; mean over the workers, as the next one
  double seconds = 0;
};

struct LabJobResult {
  std::string name;
  uint32_t num_workers = 0;
  uint32_t num_connections = 0;
  // Of iterations that began and ended in the measured time; of each the mean over the workers.
  std::vector<double> iteration_s;
  std::vector<LabIteration> iterations;  // the same, with when they began
  double bytes_per_iteration = 0;        // that the whole job sends
  double exposed_s = 0;                  // mean per iteration: compute was stalled
  double sent_bytes_per_s = 0;           // of the whole job, in its iterations; 0 without an iteration
};

// Mean of iteration_s; 0: there are none.
double MeanIterationOf(const LabJobResult& job);

struct LabRunResult {
  double measured_s = 0;
  std::vector<LabJobResult> jobs;
  LabCounters before;  // at the beginning and the end of the measured time
  LabCounters after;
};

// Starts a trainer for each worker in its host, lets them run, ends them.
// Errors: kCancelled: `stop` turned true; kUnavailable: a trainer can't be started, or failed: with its message.
// In any case no trainer is left.
Result<LabRunResult> RunJobs(const LabState& state, const std::vector<LabJob>& jobs, const LabRunOptions& options,
                             const std::atomic<bool>& stop);

// What workers' records say of a job within [begin_s, end_s] of the monotonic clock. Args: records: [worker] the lines
// that trainer.h describes; other lines are passed over.
LabJobResult SummarizeJob(const LabJob& job, const std::vector<std::string>& records, double begin_s, double end_s);

}  // namespace fairlead::lab
