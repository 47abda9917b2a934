// A cluster with one training job, simulated rank by rank, with hosts that can be isolated and replaced: the object of
// steering in drills.
//
//     run on hosts 0..n-1 --- stop: what was computed since the last checkpoint is lost --- run on other hosts ---
//
// Method      a run is an execution::JobExecution from its last complete checkpoint on; its records are relocated to
//             the time and the hosts of the run. Faults stay where they were planted (planted_faults.h). Every action
//             takes its time, and may be made to fail.
// Guarantees  same options, same calls, same records and outcomes. An action that is done twice is done once.
// Differs     from a real cluster: a spare is under the leaf of the host that it replaces; the stopped job costs
//             nothing; one job.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "controller/action_backend.h"
#include "execution/job_execution.h"
#include "execution/job_shape.h"
#include "execution/noise.h"
#include "model/telemetry.h"
#include "sim/drill/planted_faults.h"
#include "sim/drill/relocated_records.h"

namespace fairlead::sim {

struct ClusterOptions {
  execution::JobShape shape;  // with checkpoints, or all work is lost with each restart
  execution::NoiseOptions noise;
  uint64_t seed = 1;
  uint32_t num_spares = 1;
  // What actions take, >= 0. Initialization is the paper's 195 s (docs/spec/c4.md section 8); the others are ours and
  // make "a few minutes" of the whole.
  SimDuration isolate_time = SimDuration(10'000'000'000);
  SimDuration stop_time = SimDuration(30'000'000'000);
  SimDuration spare_time = SimDuration(20'000'000'000);
  SimDuration restart_time = SimDuration(195'000'000'000);
  SimDuration test_time = SimDuration(300'000'000'000);
  SimDuration return_time = SimDuration(10'000'000'000);
  // Probability that an attempt at an action fails, 0..1.
  double failing_actions = 0;

  // Errors: kInvalidArgument, naming the option, its range and what was found.
  Status Validate() const;
};

// What the job did in a stretch of time.
enum class JobActivity : uint8_t {
  kTraining,    // iterations not trained before
  kRepeating,   // iterations that were lost
  kStalled,     // no iteration ends any more
  kRestarting,  // it is stopped, or initializes
};
struct JobStretch {
  JobActivity activity = JobActivity::kTraining;
  SimTime begin;
  SimTime end;
};

class SimulatedCluster final : public controller::ActionBackend {
 public:
  // Args: options valid; faults valid for the shape, their ids those of the first placement.
  SimulatedCluster(const ClusterOptions& options, std::vector<execution::Fault> faults);

  static constexpr JobId kJob = JobId(0);

  std::string_view name() const override { return "simulated cluster"; }
  void Begin(SimTime now, const controller::SteeringAction& action) override;
  std::vector<controller::SteeringEvent> TakeOutcomes(SimTime now) override;

  // Simulates up to `now` and returns the records that have arrived since the call before. Args: now does not run
  // backwards.
  std::vector<model::TelemetryRecord> Simulate(SimTime now);

  // What people do, without an action of steering; nothing happens where it is so already.
  void Stop(SimTime now);
  void Start(SimTime now, const std::vector<HostId>& hosts);

  // The job and the spares, as reported to steering.
  std::vector<controller::SteeringEvent> Announce() const;

  const std::vector<HostId>& hosts() const { return place_.hosts; }
  bool IsRunning() const { return run_.has_value(); }
  // Iterations that are trained and not lost, as of the last call of Play.
  uint64_t NumIterations() const { return progress_.base_iteration + progress_.num_ended; }
  uint64_t num_lost() const { return progress_.num_lost; }
  // When the last iteration of this run ended; its begin if none has; of a stopped job as it was then.
  SimTime last_progress() const { return progress_.last_progress; }
  // Ends of the iterations of this run, those that are still to come included.
  std::vector<SimTime> IterationEnds() const;

  const PlantedFaults& faults() const { return faults_; }
  void Repair(size_t fault) { faults_.Repair(fault); }

  // What the job did from 0 to the last Play, without gaps.
  std::vector<JobStretch> Stretches() const;

 private:
  struct Due {
    SimTime at;
    controller::SteeringAction action;
    bool succeeds = true;
  };

  // In iterations.
  struct Progress {
    uint64_t base_iteration = 0;  // that the run began with
    uint64_t num_ended = 0;       // of the run
    uint64_t num_lost = 0;
    uint64_t farthest = 0;  // that were trained at least once
    SimTime last_progress;
  };

  SimDuration TimeOf(const controller::SteeringStep& step) const;
  void Apply(SimTime now, const controller::SteeringAction& action, std::vector<controller::SteeringEvent>* outcomes);
  void NoteProgress(SimTime now);
  void AddStretch(JobActivity activity, SimTime begin, SimTime end);

  ClusterOptions options_;
  PlantedFaults faults_;
  Random random_;
  RunPlace place_;
  std::optional<execution::JobExecution> run_;
  uint64_t num_runs_ = 0;
  SimTime run_begin_;
  SimTime simulated_until_;
  Progress progress_;
  SimTime stopped_at_;
  std::map<HostId, uint64_t> report_numbers_;  // of each host's next report
  std::vector<model::TelemetryRecord> parting_;
  std::vector<Due> due_;
  std::set<uint64_t> done_;  // numbers of actions
  std::vector<JobStretch> stretches_;
};

}  // namespace fairlead::sim
