// A cluster with one training job, simulated rank by rank, with hosts that can be isolated and replaced: the object of
// steering in drills.
//
//     run on hosts 0..n-1 --- stop: what was computed since the last checkpoint is lost --- run on other hosts ---
//
// Method      a run is an execution::JobExecution from its last complete checkpoint on; its records are relocated to
//             the time and the hosts of the run. Faults stay where they were planted: what is broken stays with its
//             host until that is repaired, what was an accident (a crash) is over with the run that it ended. Every
//             action takes its time, and may be made to fail.
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
#include "execution/fault.h"
#include "execution/job_execution.h"
#include "execution/job_shape.h"
#include "execution/noise.h"
#include "model/telemetry.h"
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

// Whether the fault stays with its host, cable or switch until it is repaired.
bool StaysBroken(execution::FaultKind kind);

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
  uint64_t NumIterations() const { return base_iteration_ + num_ended_; }
  uint64_t num_lost() const { return num_lost_; }
  // When the last iteration of this run ended; its begin if none has; of a stopped job as it was then.
  SimTime last_progress() const { return last_progress_; }
  // Ends of the iterations of this run, those that are still to come included.
  std::vector<SimTime> IterationEnds() const;

  const std::vector<execution::Fault>& faults() const { return faults_; }
  // When the fault first changed the course of the job; nothing: not yet.
  std::optional<SimTime> FirstActed(size_t fault) const { return first_acted_[fault]; }
  // The host that it is on; of connections that of the sender; invalid: of no host.
  HostId HostOf(size_t fault) const;
  // It was repaired: it does not act in later runs.
  void Repair(size_t fault) { is_repaired_[fault] = true; }
  bool IsRepaired(size_t fault) const { return is_repaired_[fault]; }

  // What the job did from 0 to the last Play, without gaps.
  std::vector<JobStretch> Stretches() const;

 private:
  struct Due {
    SimTime at;
    controller::SteeringAction action;
    bool succeeds = true;
  };

  SimDuration TimeOf(const controller::SteeringStep& step) const;
  void Apply(SimTime now, const controller::SteeringAction& action, std::vector<controller::SteeringEvent>* outcomes);
  // The faults as the run on `place_` meets them, and which they are.
  std::vector<execution::Fault> FaultsOfRun(std::vector<size_t>* indices) const;
  // False: the fault is of a host that is not of the run.
  bool MoveRank(model::RankId* rank) const;
  bool IsHealthy(SimTime now, HostId host) const;
  void NoteProgress(SimTime now);
  void AddStretch(JobActivity activity, SimTime begin, SimTime end);

  ClusterOptions options_;
  std::vector<execution::Fault> faults_;
  std::vector<bool> is_repaired_;                    // [fault]
  std::vector<std::optional<SimTime>> first_acted_;  // [fault]
  Random random_;
  RunPlace place_;
  std::optional<execution::JobExecution> run_;
  std::vector<size_t> faults_of_run_;  // [fault of the run]
  uint64_t num_runs_ = 0;
  SimTime run_begin_;
  SimTime simulated_until_;
  uint64_t base_iteration_ = 0;  // that the run began with
  uint64_t num_ended_ = 0;       // of the run
  uint64_t num_lost_ = 0;
  uint64_t farthest_ = 0;  // iterations that were trained at least once
  SimTime last_progress_;
  SimTime stopped_at_;
  std::map<HostId, uint64_t> report_numbers_;  // of each host's next report
  std::vector<model::TelemetryRecord> parting_;
  std::vector<Due> due_;
  std::set<uint64_t> done_;  // numbers of actions
  std::vector<JobStretch> stretches_;
};

}  // namespace fairlead::sim
