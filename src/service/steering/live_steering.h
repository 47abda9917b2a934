// Steering in a daemon: findings of the diagnosis in, actions within limits out, nothing forgotten when it is killed.
//
//     diagnosis --> Handle() --> Steering --> [batch] --> 1. store  2. audit log  3. people  4. back end (HookWorkers)
//     operators --> orders --------^                                                            |
//                                  ^------------------------ outcomes --------------------------+
//
// Method      controller/kept_steering.h makes a batch of each call; here it is carried out. The records are in the
//             store before anything of the batch is sent or done; lines of the log that may not have been written are
//             saved with them, and a start writes those. While the store or the log takes nothing, nothing is begun and
//             nothing new is taken up; it is tried again with each call.
// Guarantees  those of KeptSteering. Every action is in the audit log before it is begun; a line may be there twice
//             after a death.
// Thread      Handle(), and all that it calls, by one thread; the rest by any.
// Records     those of KeptSteering, and "steering/told": lines of the log.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/sim_time.h"
#include "base/status.h"
#include "controller/action_backend.h"
#include "controller/kept_steering.h"
#include "controller/steering.h"
#include "controller/steering_dispatcher.h"
#include "controller/traffic_controller.h"
#include "report/json_value.h"
#include "service/steering/hook_workers.h"
#include "store/store.h"

namespace fairlead::service {

struct LiveSteeringOptions {
  controller::SteeringOptions steering = {};
  // Carries actions out; without a command none are, and mode act is refused.
  HookWorkersOptions hook = {};
  // Names of hosts that are free whenever no job runs on them.
  std::vector<std::string> spares = {};
  // > 0. A job of before the start that was not seen for that long is gone.
  SimDuration unseen_for = SimDuration(600'000'000'000);
  // > 0. How long an operator waits for his order to be taken up.
  std::chrono::milliseconds order_patience{5'000};
  // Lines of the audit log that are shown.
  size_t num_shown = 200;

  // Args: has_scheduler: whether something else than a hook carries actions out. Errors: kInvalidArgument, naming what is
  // wrong.
  Status Validate(bool has_scheduler = false) const;
};

// What steering works with; all but the store may be missing.
struct SteeringSurroundings {
  store::Store* store = nullptr;  // shared with other threads
  // Of a job that an event named just now.
  std::function<std::string(JobId)> job_name = {};
  // Nothing is suspected about the job until then.
  std::function<void(JobId, SimTime)> excuse = {};
  // A line of the audit log. It and `note` are called by Handle(), and by the givers of orders: any thread.
  std::function<Status(const report::Json&)> audit = {};
  // For the list of events.
  std::function<void(SimTime, const controller::Noted&)> note = {};
  // Instead of HookWorkers or DryRun, for tests.
  std::unique_ptr<controller::ActionBackend> backend = {};
  // Likewise: a scheduler's. Args: names: what it calls hosts and jobs; to be called by its Begin().
  std::function<std::unique_ptr<controller::ActionBackend>(controller::SteeringNames)> make_backend = {};
};

// For observers from outside.
struct SteeringNumbers {
  std::map<controller::HostCondition, size_t> hosts;  // of those that are more than unknown or of a job
  std::map<controller::JobCondition, size_t> jobs;
  std::map<std::string, uint64_t> begun;  // [step] attempts since the start
  bool is_ok = true;                      // the store and the audit log take what happens
};

class LiveSteering {
 public:
  // Goes on where the store says. Args: host_names [host]: all hosts of the fabric.
  // Errors: kInvalidArgument: options; kDataLoss: a record that can't be read; those of the store.
  static Result<std::unique_ptr<LiveSteering>> Start(SimTime now, const LiveSteeringOptions& options,
                                                     std::vector<std::string> host_names,
                                                     SteeringSurroundings surroundings);
  // Ends programs that run; the next Start() begins their actions again.
  ~LiveSteering();
  LiveSteering(const LiveSteering&) = delete;
  LiveSteering& operator=(const LiveSteering&) = delete;

  // Jobs of before, and the number of the last finding: for the diagnosis, which numbers both. Before the first Handle().
  const std::map<JobId, std::string>& KnownJobs() const { return kept_->job_names(); }
  model::FindingId LastFinding() const { return kept_->last_finding(); }

  // To be called some times a second, without events too. Args: now: since 1970; does not run backwards.
  void Handle(SimTime now, std::span<const controller::SteeringEvent> events);

  // What people are shown (docs/internals/modules/service.md).
  report::Json ToJson() const;
  SteeringNumbers numbers() const;
  // Why nothing is begun at present; ok: all is well.
  Status status() const;

  // Orders of operators; each waits until the order is kept, and returns what to answer. Args: who: for the audit log.
  // Errors: kNotFound: no such host or job; kInvalidArgument: it makes no sense for that host;
  // kUnavailable: the audit log or the store takes nothing, or the diagnosis does not move.
  Result<report::Json> UndoIsolation(const std::string& host, const std::string& who);
  Result<report::Json> OfferSpare(const std::string& host, const std::string& who);
  // Args: seconds: 0 ends a pause.
  Result<report::Json> AnnouncePause(const std::string& job, double seconds, const std::string& reason,
                                     const std::string& who);

 private:
  // What one call has made, until all of it is carried out.
  struct Batch {
    std::vector<report::Json> lines;           // of the audit log
    std::vector<controller::AuditEntry> news;  // for people
    std::vector<controller::SteeringAction> begun;
    uint64_t num_orders = 0;  // of operators that were taken up with it, or before
    bool is_made = false;     // there is one
    bool is_kept = false;
    size_t num_lines_written = 0;
  };
  // An order as the log and the answer have it.
  struct OrderText {
    std::string action;
    std::string who;
    report::Json about;
  };
  using Records = controller::KeptSteering::Records;

  LiveSteering(SimTime now, const LiveSteeringOptions& options, SteeringSurroundings surroundings);

  // By key, or by name where one has it. Errors: kNotFound, kInvalidArgument: several have it.
  Result<JobId> FindRunning(const std::string& job) const;

  // Of the start.
  Status GoOn(SimTime now, std::vector<std::string> host_names);
  void BeginAgain(SimTime now, controller::KeptSteering::Start start);

  // Making a batch.
  void MakeBatch(SimTime now);
  void AddEntry(controller::AuditEntry entry);
  report::Json LineOf(const controller::AuditEntry& entry) const;

  // Carries the batch out, from where it stuck; false: it is stuck.
  bool CarryOut(SimTime now);
  void SetStatus(SimTime now, const Status& status);
  Status Keep();
  Status WriteLines();
  void TellPeople(SimTime now, const controller::AuditEntry& entry);
  void Note(SimTime now, const controller::Noted& note) const;
  void RenewExcuses(SimTime now);
  const controller::Steering& steering() const { return kept_->steering(); }
  const controller::SteeringNames& names() const { return kept_->names(); }

  report::Json HostsJson() const;
  report::Json JobsJson() const;
  report::Json OpenActionsJson() const;
  void UpdateView();

  controller::HostCondition ShownCondition(HostId host) const;
  Result<report::Json> Order(controller::SteeringEvent event, const OrderText& text);

  const LiveSteeringOptions options_;
  store::Store* const store_;
  SteeringSurroundings surroundings_;

  // Of the thread of Handle().
  std::unique_ptr<controller::ActionBackend> backend_;
  std::unique_ptr<controller::KeptSteering> kept_;  // never null after Start()
  std::map<uint64_t, std::string> descriptions_;    // [number of an action]
  std::map<std::string, uint64_t> begun_;           // [step]
  Records stored_;                                  // as the store has it
  Batch batch_;
  uint64_t num_waiting_orders_ = 0;
  std::deque<report::Json> shown_;
  SimTime next_view_;

  mutable std::mutex mutex_;
  std::condition_variable handled_;
  std::vector<controller::SteeringEvent> orders_;
  uint64_t num_orders_given_ = 0;
  uint64_t num_orders_kept_ = 0;
  SimTime now_;
  report::Json view_;
  Status status_;
  std::map<HostId, controller::HostCondition> conditions_;  // of hosts that are more than unknown or of a job
  std::map<std::string, JobId> running_jobs_;               // by key
  SteeringNumbers numbers_;
};

}  // namespace fairlead::service
