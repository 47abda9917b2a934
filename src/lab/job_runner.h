// Keeps the trainers of jobs in a lab: starts them, knows which have ended, stops them, and starts them again elsewhere
// from their newest checkpoint. What a resource manager is to a cluster.
//
//     FOLDER/JOB.RUN.WORKER.*     files of a trainer (trainer_process.h); RUN counts the starts of the job
//     FOLDER/JOB.checkpoint       where the job continues
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "lab/lab_state.h"
#include "lab/lab_workload.h"
#include "lab/trainer_process.h"
#include "sim/scenario.h"

namespace fairlead::lab {

struct JobRunnerOptions {
  TrainerPrograms programs;
  std::string folder;  // its old content is removed
  // Iterations from one checkpoint to the next; 0: none are written, and a restarted job starts from the beginning.
  // More: more is lost with each restart.
  uint64_t checkpoint_every = 10;
  // Seconds from asking trainers to end until they are killed, >= 0. Longer: they may take their time; beyond about a
  // second those that end first look dead to the diagnosis, which does not know of stops not made by steering.
  double stop_patience_s = 1;
};

// How a worker is to misbehave; of the trainer's control file.
struct WorkerControl {
  double busy_s = 0;    // computes that long before each communication phase
  double loader_s = 0;  // waits that long for samples at the begin of each iteration
  double pause_s = 0;   // stops for that long, once
  // Does the first two communication phases of each iteration in the other order.
  bool has_bad_order = false;

  friend bool operator==(const WorkerControl&, const WorkerControl&) = default;
};

// How far a job has come, by what its first worker has recorded.
struct JobProgress {
  uint32_t run = 0;                   // counts from 1; 0: not started yet
  std::optional<uint64_t> iteration;  // the last one that ended in this run; counts on over restarts
  double ended_s = 0;                 // of the monotonic clock, when it did

  friend bool operator==(const JobProgress&, const JobProgress&) = default;
};

struct IterationSpan {
  uint64_t first = 0;
  uint64_t last = 0;
};

class JobRunner {
 public:
  // Plans all jobs of a scenario where the scenario places them; starts none.
  // Args: state must outlive this. Errors: those of PlanJobs().
  static Result<JobRunner> Create(const sim::Scenario& scenario, const LabState& state, JobRunnerOptions options);

  size_t num_jobs() const { return jobs_.size(); }
  const std::string& name(JobId job) const { return jobs_[job].plan.name; }
  std::optional<JobId> Find(std::string_view name) const;
  // [worker] where it runs, or ran last.
  std::vector<LabNodeId> HostsOf(JobId job) const;

  // Starts a job where it was last; one that runs is stopped first.
  Status Start(JobId id);
  // The same on other hosts. Args: hosts: [worker], none twice, each with the GPUs that the worker emulates. Errors:
  // kInvalidArgument: not so; the job is left as it is.
  Status Restart(JobId id, const std::vector<LabNodeId>& hosts);
  // Ends its trainers; fine when they have ended. Blocks for up to the stop patience.
  void Stop(JobId id);

  bool IsRunning(JobId job) const { return !jobs_[job].workers.empty(); }
  bool AllConnected(JobId id) const;
  // Of a job that runs; [worker].
  std::vector<TrainerProcess>& Workers(JobId job) { return jobs_[job].workers; }
  // The workers that have ended while the job should run.
  std::vector<uint32_t> EndedWorkers(JobId id);
  Status Control(JobId id, uint32_t worker, const WorkerControl& control);
  JobProgress ProgressOf(JobId id) const;
  // Of one run; nothing: it has done none.
  std::optional<IterationSpan> IterationsOf(JobId id, uint32_t run) const;
  const LabJob& PlanOf(JobId job) const { return jobs_[job].plan; }

 private:
  struct Job {
    LabJob plan;
    std::vector<TrainerProcess> workers;  // empty: it does not run
    uint32_t run = 0;
  };

  JobRunner(const sim::Scenario& scenario, const LabState& state, JobRunnerOptions options);
  Result<LabJob> PlanOn(JobId id, const std::vector<LabNodeId>& hosts) const;
  std::string PathOf(const Job& job, uint32_t run, uint32_t worker) const;

  sim::Scenario scenario_;  // with whole connections
  uint32_t num_queue_pairs_;
  const LabState* state_;
  JobRunnerOptions options_;
  IdVector<JobId, Job> jobs_;
};

std::string WriteWorkerControl(const WorkerControl& control);

// The last iteration in the records of a worker; nothing: none has ended. Passes over a line that is half written.
struct LastIteration {
  uint64_t number = 0;
  double ended_s = 0;
};
std::optional<LastIteration> FindLastIteration(std::string_view records);

}  // namespace fairlead::lab
