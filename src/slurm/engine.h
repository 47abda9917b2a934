// Slurm as the controller's scheduler: whose the jobs are, and the steps of steering, beside the controller's threads.
//
//     steering --> Begin() --> [orders] --+                                     +--> [outcomes] --> TakeOutcomes()
//                                         v                                     |
//     each period --> reading --> one thread: the next order a little further --+--> events, /v1/slurm, alive file
//                                  |          ^
//                                  '--> sizes of elastic jobs (elastic_orders.h)
//
// Method      one thread does all that blocks. Orders take turns, so that a job which waits for room holds up no other.
//             An order that does not come to its end within its patience has failed; steering tries it again, and what
//             nobody goes on with for `left_after` is taken back (SteeringSteps::CleanUp).
// Guarantees  without `acts` nothing is changed but what is begun, which is then an operator's order. A Slurm that does
//             not answer, a node that the fabric has not, are one event each until that is over.
// Thread      any, but for the back end's, which are of steering's thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "service/controller/scheduler_engine.h"
#include "slurm/cluster_reader.h"
#include "slurm/elastic_orders.h"
#include "slurm/steering_steps.h"

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
  std::string alive_file = {};
  // > 0. How long an order may take, a restart or a test, and another one. Below the deadlines of steering's attempts.
  std::chrono::milliseconds long_patience{840'000};
  std::chrono::milliseconds patience{100'000};
  // > 0. Longer than steering pauses between two attempts: what it will go on with is not taken back.
  std::chrono::milliseconds left_after{600'000};
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
  std::vector<service::HttpRoute> Routes() override;
  service::SchedulerNumbers numbers() const override;

 private:
  class Backend;
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    StepOrder order;
    Clock::time_point until;
    std::string message;  // of its last turn
  };

  Engine(const EngineOptions& options, service::SchedulerSurroundings surroundings);

  void Put(StepOrder order);
  std::vector<controller::SteeringEvent> TakeOutcomes();

  // Of the engine's thread.
  void Run();
  void Read();
  void Look(ClusterState state);
  void OfferSpares(const ClusterState& state);
  void TellUnknownHosts(const ClusterState& state);
  void CleanUp();
  bool IsSized(const std::string& subject) const;
  Status StartElastic();
  StepsSeen ReadSteps(const Job& job, const ElasticWish& wish) const;
  void LookAtElastic();
  std::set<uint32_t> SteeredJobs() const;
  void TakeElasticTurns();
  void StartHeldJobs();
  void WriteAliveFile();
  void TakeTurns();
  void End(const StepOrder& order, const StepProgress& progress);
  void Note(controller::Noted::Severity severity, std::string subject, std::string text) const;
  void NoteOnce(const std::string& subject, const Status& status);
  nlohmann::ordered_json ToJson() const;

  const EngineOptions options_;
  const service::SchedulerSurroundings surroundings_;
  RealPrograms real_programs_;
  Programs& programs_;
  ProgramReader reader_;
  std::unique_ptr<SteeringSteps> steps_;
  std::map<std::string, HostId> hosts_;  // of the fabric
  std::function<SimTime()> clock_;

  // Of the engine's thread.
  std::set<std::string> noted_hosts_;                   // that are not in the fabric
  std::set<std::string> offered_;                       // spares, as of the last reading
  std::map<std::string, Clock::time_point> seen_left_;  // [subject] since when nobody goes on with it
  std::set<std::string> faults_;                        // subjects that something is known to be wrong with
  std::unique_ptr<ElasticOrders> elastic_;              // null: no sizes are chosen
  std::map<uint32_t, Seconds> iteration_times_;         // [job] as of the last reading

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::map<uint64_t, Waiting> waiting_;  // [number of an action]
  std::vector<controller::SteeringEvent> outcomes_;
  std::optional<ClusterState> state_;  // of the last reading that succeeded
  Status reading_status_;
  SimTime read_at_;
  service::SchedulerNumbers numbers_;
  std::vector<ElasticView> sized_;  // as of the last reading

  std::thread thread_;
};

}  // namespace fairlead::slurm
