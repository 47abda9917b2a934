// Steering: from findings to what is done about them, within limits.
//
//     finding confirmed --> isolate its hosts --> stop the job --> take spares --> restart from the newest complete
//                           checkpoint --> done, hold off; the isolated hosts are tested and come back, or stay away
//
// What it consists of, each with a state of its own; none knows the whole:
//
//     steered_jobs         hosts, pauses, findings        steered_hosts        who is spare, isolated, in doubt
//     steering_sequences   what is under way for jobs     isolation_history    what limits count
//     steering_outbox      all that is decided, in order, and what waits for an answer
//
// steering_judgement says what speaks against acting upon a finding, steering_records writes the state down; neither
// has a state.
//
// Problem     a wrong eviction costs a job minutes and a cluster a host; a detector that errs in series must not be
//             able to take a cluster apart.
// Method      a state machine without thread, socket, clock or disk. Events are taken in their order, each by the
//             component that it is for; what concerns several is done here. Limits are checked before the first step,
//             once for the whole sequence, and its spares are set aside; each step waits for the outcome of the
//             previous one. A step that fails is tried again (action_attempts.h), and then given up:
//               isolate   the job is left as it is, an operator is asked; the host's condition is in doubt
//               stop      likewise; what was isolated stays so
//               spare     another one is taken; without one the job waits, or shrinks if it can
//               restart   the job stays stopped, an operator is asked
//               test      the host stays isolated;  return  likewise
//             A finding that limits, a pause, another action or the want of a second independent sign (model/finding.h)
//             hold up is considered again while it holds.
// Guarantees  same events, same state and actions. Events and outcomes that come twice change nothing. A host is
//             isolated once, whatever is found about it meanwhile. Every host is in one HostCondition and every job in
//             one JobCondition. In the modes observe and recommend nothing is touched. Every decision, done or not,
//             says why.
//             Records() and Restore() keep the whole state over the end of a process, at any moment between two calls.
// Reference   Dong et al., C4, HPCA 2025; docs/spec/c4.md sections 7.3 to 7.5.
// Oracle      steering_laws_test.cc: random lives of a cluster, killed and continued at every event.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "base/status.h"
#include "controller/action_attempts.h"
#include "controller/isolation_history.h"
#include "controller/steered_hosts.h"
#include "controller/steered_jobs.h"
#include "controller/steering_events.h"
#include "controller/steering_options.h"
#include "controller/steering_outbox.h"
#include "controller/steering_sequences.h"
#include "model/finding.h"

namespace fairlead::controller {

enum class JobCondition : uint8_t {
  kRunning,        // as far as steering knows
  kSteered,        // an action on it is under way
  kWaitsForSpare,  // it is stopped, and no host is available to replace one
  kNeedsOperator,  // an action was given up: a person has to look
};

// "running", "steered", "waits_for_spare", "needs_operator".
std::string_view Name(JobCondition condition);

class Steering {
 public:
  // Args: options valid; hosts of the cluster, spares included.
  Steering(const SteeringOptions& options, uint32_t num_cluster_hosts);
  Steering(const Steering&) = delete;
  Steering& operator=(const Steering&) = delete;

  // Handles events of one instant; an empty call tells again what is due. Returns new and repeated actions, in order.
  std::vector<SteeringAction> Handle(SimTime now, std::span<const SteeringEvent> events);
  // When an empty call would do something, apart from findings that are held up; Never(): nothing is under way.
  SimTime NextDue() const { return outbox_.attempts().NextDue(); }

  bool IsIsolated(HostId host) const { return hosts_.IsIsolated(host); }
  // Hosts that are isolated, or about to be.
  const std::set<HostId>& isolated() const { return hosts_.isolated(); }
  const std::set<HostId>& spares() const { return hosts_.spares(); }
  // Hosts that are more than unknown or of a job.
  std::set<HostId> MarkedHosts() const;
  // Actions sent and not answered, or is to be tried again.
  const ActionAttempts& attempts() const { return outbox_.attempts(); }
  bool IsBusy(JobId job) const { return sequences_.Find(job) != nullptr; }
  // Whether an action under way has stopped it, or is about to.
  bool IsStopped(JobId job) const { return sequences_.IsStopped(job); }
  // Nothing: no such job runs.
  std::optional<JobCondition> ConditionOf(JobId job) const;
  HostCondition ConditionOf(HostId host) const;
  // Hosts of the job in rank order, as of its last start; must be known.
  const std::vector<HostId>& HostsOf(JobId job) const { return jobs_.at(job).hosts; }
  // Jobs known to steering that have not ended, ascending.
  std::vector<JobId> Jobs() const;
  // Until when the job pauses as announced; the past: it does not.
  SimTime PausedUntil(JobId job) const { return jobs_.PausedUntil(job); }
  size_t NumIsolatedSince(SimTime since, JobId job) const { return history_.NumSince(since, job); }

  // What must outlive the process, as records by key: Restore() of them makes the same state (steering_records.h).
  // Args: host_names [host]: as the records name hosts, so that they outlive other ids; those beyond it have numbers.
  std::vector<std::pair<std::string, std::string>> Records(std::span<const std::string> host_names) const;
  // To be called before anything else. Hosts that have no id any more are forgotten, with the jobs that they were of.
  // Returns what was forgotten, for people. Errors: kDataLoss: names the record; the object is of no use then.
  Result<std::vector<std::string>> Restore(std::span<const std::pair<std::string, std::string>> records,
                                           std::span<const std::string> host_names);
  // After Restore(): findings are made again, by a diagnosis that knows nothing of earlier ones. The time of actions
  // that were sent and not answered starts now. Returns them, in order: whether they were carried out is not known.
  std::vector<SteeringAction> Resume(SimTime now);
  // The action, which was returned before, has been begun only now: the time of its attempt starts anew.
  void NoteBegun(SimTime now, const SteeringAction& action) { outbox_.NoteBegun(now, action); }
  // Nothing under way continues, since nothing carries it out any more: the operator is asked about the jobs, isolated
  // hosts stay isolated. Returns the messages about that.
  std::vector<SteeringAction> Abandon(SimTime now, const std::string& why);

 private:
  void Take(SimTime now, const JobRunning& event);
  void Take(SimTime now, const JobGone& event);
  void Take(SimTime now, const SpareOffered& event);
  void Take(SimTime now, const FindingReported& event);
  void Take(SimTime now, const StepDone& event);
  void Take(SimTime now, const HostTested& event);
  void Take(SimTime now, const IsolationUndone& event);
  void Take(SimTime now, const PauseAnnounced& event);

  void Judge(SimTime now, const model::Finding& finding);
  void JudgeHeldUp(SimTime now);

  // A job that others have started, or that only is reported again, while something is under way for it. Returns
  // whether that goes on.
  bool GoesOn(SimTime now, const JobRunning& event, const SteeringSequence& sequence);
  void FollowAllocator(SimTime now, const JobRunning& event, const SteeringSequence& sequence);
  // A job runs there: it is no spare.
  void NoteUsed(HostId host);
  // Makes it a spare, if nothing else is known of it.
  void FreeIfUnknown(HostId host);
  void BeginReturn(SimTime now, HostId host, std::string reason);

  void End(SimTime now, const ActionAttempts::End& end);
  void Succeed(SimTime now, const SteeringAction& action);
  // The job runs again, on these hosts.
  void EndRestart(SimTime now, JobId job, const std::vector<HostId>& hosts);
  void GiveUp(SimTime now, const SteeringAction& action, const std::string& message);
  // What is under way for the job ends, and an operator has to look.
  void LeaveToOperator(SimTime now, JobId job, const SteeringSequence& sequence, std::string reason);
  // The diagnosis may look at the job again, unless a pause was announced.
  void EndExcuse(SimTime now, JobId job);

  const SteeringOptions options_;
  const uint32_t num_cluster_hosts_;
  // In the order in which they need one another.
  SteeredJobs jobs_;
  SteeredHosts hosts_;
  IsolationHistory history_;
  SteeringOutbox outbox_;
  SteeringSequences sequences_;
};

}  // namespace fairlead::controller
