// Slurm as the controller's scheduler: whose the jobs are, and the steps of steering, beside the controller's threads.
//
//     steering --> Begin() --> [orders] --+                                     +--> [outcomes] --> TakeOutcomes()
//                                         v                                     |
//     each period --> reading --> one thread: the next order a little further --+--> events, /v1/slurm, alive file
//                                  |          ^
//                                  '--> sizes of elastic jobs
//
// What it consists of, each with a state of its own; none knows the whole:
//
//     step_orders     which orders are under way           steering_steps   how far each of them is
//     readings        what Slurm has shown                 elastic_sizing   which elastic job gets which size
//     host_watch      which hosts and spares are new       left_steps       since when nobody goes on with a step
//     engine_notes    what people know already             job_accounts     what was done to which job, and why
//     lost_runs       which runs have no process left
//
// order_backend gives the orders, held_jobs releases what nobody sizes, engine_json shows all of it; none has a state.
//
// Method      one thread does all that blocks. Orders take turns, so that a job which waits for room holds up no other.
//             An order that does not come to its end within its patience has failed; steering tries it again, and what
//             nobody goes on with for `left_after` is taken back (SteeringSteps::CleanUp).
// Guarantees  without `acts` nothing is changed but what is begun, which is then an operator's order. A Slurm that does
//             not answer, a node that the fabric has not, are one event each until that is over. Nothing is decided
//             on what was read before, and no patience is counted while nobody could go on.
// Size        its members are those parts, what they speak to Slurm with, and the thread.
// Thread      any, but for the back end's functions, which are of steering's thread. step_orders, readings and
//             elastic_sizing each have a mutex for what other threads than the engine's use of them, and never hold it
//             while another one is taken; all else is of the engine's thread once that has begun.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/descriptor.h"
#include "base/sim_time.h"
#include "base/status.h"
#include "service/controller/scheduler_engine.h"
#include "slurm/cluster_reader.h"
#include "slurm/elastic_sizing.h"
#include "slurm/engine_notes.h"
#include "slurm/host_watch.h"
#include "slurm/job_accounts.h"
#include "slurm/left_steps.h"
#include "slurm/lost_runs.h"
#include "slurm/programs.h"
#include "slurm/readings.h"
#include "slurm/steering_steps.h"
#include "slurm/step_orders.h"

namespace fairlead::slurm {

struct EngineOptions {
  // Between two readings, > 0. Shorter: ends of jobs and free spares are seen sooner; a reading of 2,000 jobs costs
  // Slurm's programs 0.08 s.
  std::chrono::milliseconds period{10'000};
  // Reservation that keeps spares free, "fairlead…"; empty: there is none, and spares are the controller's own.
  std::string spares = {};
  // Run on a host that is to be tested; empty: none is.
  std::string test_program = {};
  // Where the time of the last reading is written (fairlead-watchdog, job_submit.lua), while it `acts`; empty: nowhere.
  // It acts alone on what has this file: a second engine that would act is refused.
  std::string alive_file = {};
  // > 0. How long an order may take, a restart or a test, and another one. Below the deadlines of steering's attempts.
  std::chrono::milliseconds long_patience{840'000};
  std::chrono::milliseconds patience{100'000};
  // > 0. Longer than steering pauses between two attempts: what it will go on with is not taken back.
  std::chrono::milliseconds left_after{600'000};
  // > 0. After which a run of which no process is seen is lost (lost_runs.h).
  std::chrono::milliseconds lost_after{120'000};
  // Between two turns while orders are under way, > 0.
  std::chrono::milliseconds turn{200};
  // Of those that it runs; null: the real ones. Used by one thread.
  Programs* programs = nullptr;
  SteeringStepOptions steps = {};  // fabric_hosts, spares and test_program are set by the engine
  // Elastic jobs of these partitions get their nodes from us, if it `acts`; without a partition of none.
  ElasticOrderOptions elastic = {};
  // Any clock that does not jump, since 1970; empty: that of diagnosis.
  std::function<SimTime()> clock = {};

  // Errors: kInvalidArgument, naming the option.
  Status Validate() const;
};

class Engine final : public service::SchedulerEngine {
 public:
  // Runs from here on. Errors: kInvalidArgument: options; those of the store; kDataLoss: a record that can't be read.
  static Result<std::unique_ptr<service::SchedulerEngine>> Start(EngineOptions options,
                                                                 service::SchedulerSurroundings surroundings);
  // Ends after the step under way.
  ~Engine() override;

  std::unique_ptr<controller::ActionBackend> MakeBackend(controller::SteeringNames names) override;
  bool MayActOn(const model::JobIdentity& job) const override;
  bool MayRunOn(const model::JobIdentity& job, HostId host) const override;
  bool ChoosesSizeOf(const model::JobIdentity& job) const override;
  std::vector<service::HttpRoute> Routes() override;
  service::SchedulerNumbers numbers() const override;

 private:
  using Clock = StepOrders::Clock;

  Engine(const EngineOptions& options, service::SchedulerSurroundings surroundings);

  // Of the start. What an earlier controller has left, where it is not gone on with.
  Status StartSizing();
  void TellLeft(const std::vector<std::pair<uint64_t, Operation>>& recorded, const std::vector<StopJob>& stopped);

  // Of the engine's thread.
  void Run();
  void Read();
  // What is to be said when Slurm answers after it did not; empty: nothing. Such a time does not count as one in which
  // somebody could have gone on with a step.
  std::string EndAbsence(bool answers);
  // Args: state: that was read just now.
  void Look(const ClusterState& state, const std::vector<LostRun>& lost);
  std::vector<LostRun> FindLostRuns(const ClusterState& state);
  void TellLiveChanges(const ClusterState& before, const ClusterState& now);
  void CleanUp(const ClusterState& state);
  void WriteAliveFile();
  void TakeTurns();
  // What was done to a job, for its account.
  void Account(uint32_t job, std::optional<uint32_t> owner, AccountEntry entry);
  void AccountForStep(const StepOrder& order, const StepProgress& progress);
  SimTime Now() const;  // does not jump
  // Those of steps that are under way, and those that are stopped until the next step.
  std::set<uint32_t> SteeredJobs() const;

  const EngineOptions options_;
  const service::SchedulerSurroundings surroundings_;
  Descriptor alive_lock_;  // closed: it does not act, or has no alive_file
  RealPrograms real_programs_;
  Programs& programs_;
  // In the order in which they need one another.
  ProgramReader reader_;
  EngineNotes notes_;
  StepOrders orders_;
  SteeringSteps steps_;
  Readings readings_;
  HostWatch hosts_;
  LeftSteps left_;
  LostRuns lost_;
  std::optional<SimTime> away_since_;      // Slurm does not answer
  std::unique_ptr<JobAccounts> accounts_;  // never null after Start()
  std::unique_ptr<ElasticSizing> sizing_;  // null: no sizes are chosen
  std::thread thread_;
};

}  // namespace fairlead::slurm
