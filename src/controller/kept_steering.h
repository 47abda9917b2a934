// Steering over the deaths of its process: what is to be kept before anything is done, and how a start goes on.
//
//     records of before --> Restore() ---+
//     events, outcomes  --> Take() ------+--> Steering --> batch --> its owner: 1. keeps Records()  2. logs  3. begins
//
// Problem     a controller that is killed between an isolation and the restart of its job leaves a stopped job, and an
//             unrecorded isolated host; one that starts again from findings alone isolates a second one.
// Method      each batch is what some events have changed: entries of the audit log, and actions to begin. Its owner
//             keeps Records() before it sends or begins anything of the batch, and makes no other batch until then. A
//             start reads the records, and begins actions that were sent and not answered as the same attempt of the
//             same number, which back ends have to allow. A diagnosis that has begun with this process sees every job
//             for the first time: a job that runs as it did is not taken for one that was started.
// Guarantees  a host that was isolated is known to be so until its return is done. An action whose outcome was kept is
//             not begun again. In the modes observe and recommend nothing is begun but the return of a host that an
//             operator asks for; what an earlier process had under way in mode act is given up, and people are asked.
// Records     "steering/state/…" (controller/steering_records.h), "steering/name/<job>": its name,
//             "steering/last_finding".
#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "base/status.h"
#include "controller/action_backend.h"
#include "controller/steering.h"
#include "controller/steering_dispatcher.h"

namespace fairlead::controller {

struct KeptSteeringOptions {
  SteeringOptions steering = {};
  std::set<HostId> spares = {};  // hosts that are free whenever no job runs on them
  // > 0. A job of before the start that was not seen for that long is gone.
  SimDuration unseen_for = SimDuration(600'000'000'000);
};

class KeptSteering {
 public:
  using Records = std::map<std::string, std::string>;
  static constexpr std::string_view kPrefix = "steering/";  // of all keys

  struct Surroundings {
    // What has come of actions that were begun (ActionBackend::TakeOutcomes).
    std::function<std::vector<SteeringEvent>(SimTime)> take_outcomes;
    WriteAudit entry;                            // each entry of the audit log, when it is made; may be empty
    std::function<std::string(JobId)> job_name;  // of a job that an event named just now; may be empty
  };
  struct Batch {
    bool is_made = false;  // there is something to keep, to log or to begin
    std::vector<SteeringAction> begun;
  };
  struct Start {
    std::vector<std::string> forgotten;    // of the records, for people
    std::vector<SteeringAction> begun;     // again
    std::vector<SteeringAction> given_up;  // messages about what was under way, where the mode is not act
  };

  // Args: host_names [host]: all hosts of the fabric.
  KeptSteering(SimTime now, const KeptSteeringOptions& options, std::vector<std::string> host_names,
               Surroundings surroundings);
  KeptSteering(const KeptSteering&) = delete;
  KeptSteering& operator=(const KeptSteering&) = delete;

  // Goes on where the records say; before anything else. Other keys are ignored. Errors: kDataLoss: names the record.
  Result<Start> Restore(SimTime now, const Records& records);

  // To be handled with the next batch.
  void Take(SteeringEvent event);
  // Of all that was taken, and of what is due. Args: now does not run backwards.
  Batch MakeBatch(SimTime now);
  // What must outlive the process.
  Records ToRecords() const;
  // An action of the batch, which may have had to wait for the store, is begun.
  void NoteBegun(SimTime now, const SteeringAction& action) { steering_.NoteBegun(now, action); }

  // Of a start: jobs about which the diagnosis of this process has yet to be told, and until when they are excused.
  std::vector<std::pair<JobId, SimTime>> ExcusesToRenew(SimTime now) const;
  // An excuse of a batch has reached the diagnosis.
  void NoteExcused(JobId job) { unexcused_.erase(job); }

  const Steering& steering() const { return steering_; }
  const std::vector<std::string>& host_names() const { return host_names_; }
  const SteeringNames& names() const { return names_; }
  // Jobs, and the number of the last finding: for the diagnosis, which numbers both.
  const std::map<JobId, std::string>& job_names() const { return job_names_; }
  model::FindingId last_finding() const { return last_finding_; }

 private:
  // Keeps what the dispatcher wants begun until the batch is kept.
  class Gate final : public ActionBackend {
   public:
    explicit Gate(KeptSteering* owner) : owner_(owner) {}
    std::string_view name() const override { return "kept"; }
    void Begin(SimTime, const SteeringAction& action) override { owner_->begun_.push_back(action); }
    std::vector<SteeringEvent> TakeOutcomes(SimTime now) override;

   private:
    KeptSteering* owner_;
  };

  std::vector<SteeringEvent> OwnEvents(SimTime now);
  void ForgetJobs(SimTime now);

  const KeptSteeringOptions options_;
  const std::vector<std::string> host_names_;
  const SimTime started_;
  Surroundings surroundings_;
  SteeringNames names_;
  Steering steering_;
  std::map<JobId, std::string> job_names_;
  model::FindingId last_finding_;
  std::set<JobId> unseen_;     // jobs of before the start
  std::set<JobId> unexcused_;  // likewise: not reported to the diagnosis by this process
  std::vector<SteeringEvent> waiting_;
  std::vector<SteeringAction> begun_;  // of the batch that is made
  bool has_outcomes_ = false;
  Gate gate_;
  SteeringDispatcher dispatcher_;
};

}  // namespace fairlead::controller
