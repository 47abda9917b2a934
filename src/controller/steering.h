// Steering: from findings to what is done about them, within limits.
//
//     finding confirmed --> isolate its hosts --> stop the job --> take spares --> restart from the newest complete
//                           checkpoint --> done, hold off; the isolated hosts are tested and come back, or stay away
//
// Problem     a wrong eviction costs a job minutes and a cluster a host; a detector that errs in series must not be
//             able to take a cluster apart.
// Method      a state machine without thread, socket, clock or disk. Limits are checked before the first step, once for
//             the whole sequence, and its spares are set aside; each step waits for the outcome of the previous one. A
//             step that fails is tried again (action_attempts.h), and then given up:
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
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "base/status.h"
#include "controller/action_attempts.h"
#include "controller/steering_events.h"
#include "model/finding.h"

namespace fairlead::controller {

enum class SteeringMode : uint8_t {
  kObserve,    // findings are reported, that is all
  kRecommend,  // intended actions are reported
  kAct,        // it is done
};

struct SteeringOptions {
  SteeringMode mode = SteeringMode::kObserve;
  // Hosts of a job isolated within an hour. Larger: several faults in a row are dealt with; smaller: a detector that
  // errs does less harm. Likewise the two shares of hosts within a day, 0..1; each allows at least one host.
  uint32_t max_hosts_per_job_hour = 2;
  double max_job_share_per_day = 0.05;
  double max_cluster_share_per_day = 0.02;
  // No action for that long after a restart of the job, >= 0. Longer: what start-up looks like is not acted upon.
  SimDuration hold_off = SimDuration(600'000'000'000);
  // More guilty hosts of a job at once than that share, 0..1: the fabric or the detector is to blame. One host never
  // is.
  double suspect_fabric_share = 0.2;
  // Findings of less confidence are not acted upon, 0..1.
  double min_confidence = 0.8;
  AttemptOptions attempts;

  // Errors: kInvalidArgument, naming the option, its range and what was found.
  Status Validate() const;
};

// "observe", "recommend", "act".
std::string_view Name(SteeringMode mode);

// Spare hosts for a job of that many hosts: 8 per 128, at least one.
uint32_t RecommendedSpares(uint32_t num_hosts);

enum class JobCondition : uint8_t {
  kRunning,        // as far as steering knows
  kSteered,        // an action on it is under way
  kWaitsForSpare,  // it is stopped, and no host is available to replace one
  kNeedsOperator,  // an action was given up: a person has to look
};

enum class HostCondition : uint8_t {
  kUnknown,    // it was not reported
  kInJob,      // of a job, and nothing is held against it
  kSpare,      // free
  kReserved,   // a spare that an action has set aside, or taken
  kIsolating,  // an action is about to isolate it; it may still be of its job
  kIsolated,   // away from jobs until it has passed its tests, or an operator takes that back
  kInDoubt,    // an action on it was given up: whether it was carried out is not known
};

// "running", "steered", "waits_for_spare", "needs_operator".
std::string_view Name(JobCondition condition);
// "unknown", "in_job", "spare", "reserved", "isolating", "isolated", "in_doubt".
std::string_view Name(HostCondition condition);

// What steering knows of a job.
struct SteeredJob {
  // A confirmed finding that is held up.
  struct HeldUp {
    model::Finding finding;
    std::string rule;  // that did it when this was last reported
  };

  std::vector<HostId> hosts;
  bool can_shrink = false;
  bool needs_operator = false;
  bool has_unverified_owner = false;
  SimTime hold_off_until;
  SimTime paused_until;
  std::string pause_reason;
  std::map<model::FindingId, HeldUp> held_up;
};

// One action in flight of a job.
struct SteeringSequence {
  model::Finding finding;
  std::deque<HostId> to_isolate;
  std::deque<HostId> to_replace;  // guilty hosts of the job not replaced yet
  std::vector<HostId> hosts;      // of the job, as they will be
  std::set<HostId> reserved;      // spares set aside, not assigned yet
  std::set<HostId> taken;         // spares that were taken
  bool is_stopped = false;
  bool waits_for_spare = false;
  uint64_t current = 0;  // number of the action that is not answered; 0: none
};

struct HostIsolation {
  SimTime at;
  JobId job;
};

class Steering {
 public:
  // Args: options valid; hosts of the cluster, spares included.
  Steering(const SteeringOptions& options, uint32_t num_cluster_hosts);

  // Handles events of one instant; an empty call tells again what is due. Returns new and repeated actions, in order.
  std::vector<SteeringAction> Handle(SimTime now, std::span<const SteeringEvent> events);
  // When an empty call would do something, apart from findings that are held up; Never(): nothing is under way.
  SimTime NextDue() const { return attempts_.NextDue(); }

  bool IsIsolated(HostId host) const { return isolated_.contains(host); }
  // Hosts that are isolated, or about to be.
  const std::set<HostId>& isolated() const { return isolated_; }
  const std::set<HostId>& spares() const { return spares_; }
  // Hosts that are more than unknown or of a job.
  std::set<HostId> MarkedHosts() const;
  // Actions sent and not answered, or is to be tried again.
  const ActionAttempts& attempts() const { return attempts_; }
  bool IsBusy(JobId job) const { return sequences_.contains(job); }
  // Whether an action under way has stopped it, or is about to.
  bool IsStopped(JobId job) const;
  // Nothing: no such job runs.
  std::optional<JobCondition> ConditionOf(JobId job) const;
  HostCondition ConditionOf(HostId host) const;
  // Hosts of the job in rank order, as of its last start; must be known.
  const std::vector<HostId>& HostsOf(JobId job) const { return jobs_.at(job).hosts; }
  // Jobs known to steering that have not ended, ascending.
  std::vector<JobId> Jobs() const;
  // Until when the job pauses as announced; the past: it does not.
  SimTime PausedUntil(JobId job) const;
  size_t NumIsolatedSince(SimTime since, JobId job) const;

  // What must outlive the process, as records by key: Restore() of them makes the same state (steering_records.cc).
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
  void NoteBegun(SimTime now, const SteeringAction& action) { attempts_.NoteBegun(now, action); }
  // Nothing under way continues, since nothing carries it out any more: the operator is asked about the jobs, isolated
  // hosts stay isolated. Returns the messages about that.
  std::vector<SteeringAction> Abandon(SimTime now, const std::string& why);

 private:
  using Job = SteeredJob;
  using Sequence = SteeringSequence;
  using Isolation = HostIsolation;
  // Why nothing is done.
  struct Objection {
    std::string_view rule;  // empty: there is none
    std::string text;
    bool may_pass = false;  // with time, while the finding holds
  };

  void Take(SimTime now, const JobRunning& event);
  void Take(SimTime now, const JobGone& event);
  void Take(SimTime now, const SpareOffered& event);
  void Take(SimTime now, const FindingReported& event);
  void Take(SimTime now, const StepDone& event);
  void Take(SimTime now, const HostTested& event);
  void Take(SimTime now, const IsolationUndone& event);
  void Take(SimTime now, const PauseAnnounced& event);

  // Judging.
  void Judge(SimTime now, const model::Finding& finding);
  void JudgeHeldUp(SimTime now);
  std::vector<HostId> GuiltyHosts(const model::Finding& finding) const;
  Objection FindObjection(SimTime now, const model::Finding& finding, const std::vector<HostId>& guilty) const;
  Objection FindLimit(SimTime now, const model::Finding& finding, const std::vector<HostId>& guilty) const;

  // Acting.
  void Begin(SimTime now, const model::Finding& finding, const std::vector<HostId>& guilty);
  void Continue(SimTime now, JobId job);
  // True: a step was sent, or the job waits; false: all places are filled.
  bool ReplaceNext(SimTime now, JobId job, Sequence& sequence);
  void WaitForSpare(SimTime now, JobId job, Sequence& sequence);
  // Others have restarted a job, in the moment in which it is stopped: it goes on where it is now.
  void ChangeHosts(JobId job, const std::vector<HostId>& hosts);
  // A job runs there: it is no spare.
  void NoteUsed(HostId host);
  void ServeWaiting(SimTime now);
  void End(SimTime now, const ActionAttempts::End& end);
  void Succeed(SimTime now, const SteeringAction& action);
  void GiveUp(SimTime now, const SteeringAction& action, const std::string& message);
  // Forgets what is under way; spares not yet assigned are free again, assigned ones in doubt.
  void Drop(JobId job);
  // A host that has come back before it was replaced needs no replacement.
  void KeepPlace(SimTime now, HostId host);
  void BeginReturn(SimTime now, HostId host, std::string reason);
  bool IsOfJob(HostId host) const;
  // With what was restored of them.
  void Forget(std::span<const JobId> jobs, std::span<const uint64_t> actions);

  // Args: finding: that it follows from; null: none. Returns the number of the action.
  uint64_t Tell(SimTime now, SteeringStep step, JobId job, const model::Finding* finding, std::string reason);
  // The diagnosis may look at the job again, unless a pause was announced.
  void EndExcuse(SimTime now, JobId job);

  SteeringOptions options_;
  uint32_t num_cluster_hosts_;
  std::map<JobId, Job> jobs_;
  std::set<HostId> spares_;
  std::set<HostId> isolated_;
  std::set<HostId> in_doubt_;
  std::set<HostId> returning_;        // of isolated_
  std::set<HostId> isolating_;        // of isolated_: not done yet
  std::map<HostId, uint64_t> tests_;  // numbers of tests that are not answered
  std::map<JobId, Sequence> sequences_;
  ActionAttempts attempts_;
  std::vector<Isolation> history_;
  // By their first sight too: a restarted diagnosis counts from 0 again.
  std::set<std::tuple<JobId, model::FindingId, SimTime>> judged_;
  uint64_t num_actions_ = 0;
  std::vector<SteeringAction> actions_;
};

}  // namespace fairlead::controller
