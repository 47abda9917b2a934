// Steering in a daemon: findings of the diagnosis in, actions within limits out, nothing forgotten when it is killed.
//
//     diagnosis --> Handle() --> Steering --> [batch] --> 1. store  2. audit log  3. people  4. back end (HookWorkers)
//     operators --> orders --------^                                                            |
//                                  ^------------------------ outcomes --------------------------+
//
// What it consists of, each with a state of its own; none knows the whole:
//
//     kept_steering (controller)   what is decided             stored_records   what the store has of it
//     audit_lines                  what has yet to be logged   steering_news    what people call an action
//     operator_orders              who waits for an answer     shown_steering   what is seen from outside
//
// Method      controller/kept_steering.h makes a batch of each call; here it is carried out. The records are in the
//             store before anything of the batch is sent or done; lines of the log that may not have been written are
//             saved with them, and a start writes those. While the store or the log takes nothing, nothing is begun and
//             nothing new is taken up; it is tried again with each call.
// Guarantees  those of KeptSteering. Every action is in the audit log before it is begun; a line may be there twice
//             after a death.
// Thread      Handle(), and all that it calls, by one thread; the rest by any. What both use is in operator_orders and
//             shown_steering, each with a mutex of its own; neither is taken together with another one.
// Records     those of KeptSteering, and "steering/told": lines of the log.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/sim_time.h"
#include "base/status.h"
#include "controller/action_backend.h"
#include "controller/checked_return.h"
#include "controller/kept_steering.h"
#include "controller/steering_dispatcher.h"
#include "controller/traffic_controller.h"
#include "report/json_value.h"
#include "service/steering/audit_lines.h"
#include "service/steering/hook_workers.h"
#include "service/steering/operator_orders.h"
#include "service/steering/shown_steering.h"
#include "service/steering/steering_news.h"
#include "service/steering/stored_records.h"
#include "store/store.h"

namespace fairlead::service {

struct LiveSteeringOptions {
  controller::SteeringOptions steering = {};
  // Carries actions out; without a command none are, and mode act is refused.
  HookWorkersOptions hook = {};
  // Isolated hosts are tested by the controller's checks; empty: by what carries out the other actions.
  std::optional<controller::CheckedReturnOptions> checked_return = {};
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
  // For LiveSteeringOptions::checked_return, which is without effect where this is missing.
  std::optional<controller::HostCheckSource> checks = {};
  // For the list of events.
  std::function<void(SimTime, const controller::Noted&)> note = {};
  // Instead of HookWorkers or DryRun, for tests.
  std::unique_ptr<controller::ActionBackend> backend = {};
  // Likewise: a scheduler's. Args: names: what it calls hosts and jobs; to be called by its Begin().
  std::function<std::unique_ptr<controller::ActionBackend>(controller::SteeringNames)> make_backend = {};
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
  const std::map<JobId, std::string>& KnownJobs() const { return kept_.job_names(); }
  model::FindingId LastFinding() const { return kept_.last_finding(); }

  // To be called some times a second, without events too. Args: now: since 1970; does not run backwards.
  void Handle(SimTime now, std::span<const controller::SteeringEvent> events);

  // What people are shown (docs/internals/modules/service.md).
  report::Json ToJson() const { return shown_.ToJson(); }
  SteeringNumbers numbers() const { return shown_.numbers(); }
  std::map<HostId, controller::HostCondition> conditions() const { return shown_.conditions(); }
  // Why nothing is begun at present; ok: all is well.
  Status status() const { return shown_.status(); }

  // Orders of operators, as OperatorOrders has them; each waits until it is kept.
  Result<report::Json> UndoIsolation(const std::string& host, const std::string& who) {
    return orders_.UndoIsolation(host, who);
  }
  Result<report::Json> OfferSpare(const std::string& host, const std::string& who) {
    return orders_.OfferSpare(host, who);
  }
  Result<report::Json> AnnouncePause(const std::string& job, double seconds, const std::string& reason,
                                     const std::string& who) {
    return orders_.AnnouncePause(job, seconds, reason, who);
  }

 private:
  // What one call has made, until all of it is carried out; its lines of the log are in lines_.
  struct Batch {
    std::vector<controller::AuditEntry> news;  // for people
    std::vector<controller::SteeringAction> begun;
    uint64_t num_orders = 0;  // of operators that were taken up with it, or before
    bool is_made = false;     // there is one
    bool is_kept = false;
  };

  LiveSteering(SimTime now, const LiveSteeringOptions& options, const controller::KeptSteeringOptions& kept,
               std::vector<std::string> host_names, SteeringSurroundings surroundings);

  // Of the start.
  Status GoOn(SimTime now);
  void BeginAgain(SimTime now, controller::KeptSteering::Start start);

  // Making a batch.
  void MakeBatch(SimTime now);
  void AddEntry(controller::AuditEntry entry);

  // Carries the batch out, from where it stuck; false: it is stuck.
  bool CarryOut(SimTime now);
  Status Keep();
  void SetStatus(SimTime now, const Status& status);
  void Tell(SimTime now, const controller::AuditEntry& entry);
  void Note(SimTime now, const controller::Noted& note) const;
  void RenewExcuses(SimTime now);
  void Show(SimTime now);

  const LiveSteeringOptions options_;
  SteeringSurroundings surroundings_;
  // In the order in which they need one another. Of the thread of Handle(), but for shown_ and orders_.
  controller::KeptSteering kept_;
  std::unique_ptr<controller::ActionBackend> backend_;  // never null
  StoredRecords stored_;
  AuditLines lines_;
  SteeringNews news_;
  Batch batch_;
  std::map<std::string, uint64_t> begun_;  // [step]
  SimTime next_show_;
  ShownSteering shown_;
  OperatorOrders orders_;
};

}  // namespace fairlead::service
