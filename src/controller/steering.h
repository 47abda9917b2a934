// Steering: from findings to what is done about them, within limits.
//
//     finding confirmed --> isolate its hosts --> stop the job --> take spares --> restart from the newest complete
//                           checkpoint --> done, hold off; the isolated hosts are tested and come back, or stay away
//
// Problem     a wrong eviction costs a job minutes and a cluster a host; a detector that errs in series must not be
//             able to take a cluster apart.
// Method      a state machine without thread, socket, clock or disk. Limits are checked before the first step, once for
//             the whole sequence; each step waits for word of the one before, and is told again until then.
// Guarantees  same events, same state and actions. Events and outcomes that come twice change nothing. A host is
//             isolated once, whatever is found about it meanwhile. In the modes observe and recommend nothing is
//             touched. Every decision, done or not, says why.
// Reference   Dong et al., C4, HPCA 2025; spec sections 7.3 to 7.5.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "base/status.h"
#include "model/finding.h"

namespace fairlead::controller {

enum class SteeringMode : uint8_t {
  kObserve,    // findings are reported, that is all
  kRecommend,  // what would be done is said
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

  // Errors: kInvalidArgument, naming the option, its range and what was found.
  Status Validate() const;
};

// Spare hosts for a job of that many hosts: 8 per 128, at least one.
uint32_t RecommendedSpares(uint32_t num_hosts);

// What happened. Outcomes carry the number of the action.
struct JobRunning {
  JobId job;
  std::vector<HostId> hosts;  // in rank order
};
struct JobGone {
  JobId job;
};
struct SpareOffered {
  HostId host;
};
struct FindingTold {
  model::Finding finding;
};
struct StepDone {
  uint64_t action = 0;
  bool succeeded = true;
  HostId host;  // of TakeSpare: which; invalid: none was free
};
struct HostTested {
  HostId host;
  bool is_healthy = false;
};
// An operator takes an isolation back.
struct IsolationUndone {
  HostId host;
};
using SteeringEvent =
    std::variant<JobRunning, JobGone, SpareOffered, FindingTold, StepDone, HostTested, IsolationUndone>;

// What is to be done. All can be told twice.
struct IsolateHost {
  HostId host;
};
struct StopJob {
  JobId job;
};
struct TakeSpare {
  JobId job;
  HostId spare;
  HostId replaces;
};
struct RestartJob {
  JobId job;
  std::vector<HostId> hosts;  // in rank order; from the newest complete checkpoint
};
struct TestHost {
  HostId host;
};
struct ReturnHost {
  HostId host;
};
// Somebody should know, and nothing is done.
struct Advise {
  JobId job;
  model::RecommendedAction action = model::RecommendedAction::kNone;
};
using SteeringStep = std::variant<IsolateHost, StopJob, TakeSpare, RestartJob, TestHost, ReturnHost, Advise>;

struct SteeringAction {
  uint64_t number = 0;  // counts from 1
  SteeringStep step;
  model::FindingId finding;  // that it follows from; invalid: none
  std::string reason;
};

class Steering {
 public:
  // Args: options valid; hosts of the cluster, spares included.
  Steering(const SteeringOptions& options, uint32_t num_cluster_hosts);

  // Handles events of one instant; an empty call repeats what nobody has answered. Returns new and repeated actions.
  std::vector<SteeringAction> Handle(SimTime now, std::span<const SteeringEvent> events);

  bool IsIsolated(HostId host) const { return isolated_.contains(host); }
  const std::set<HostId>& isolated() const { return isolated_; }
  const std::set<HostId>& spares() const { return spares_; }
  bool IsBusy(JobId job) const { return sequences_.contains(job); }

 private:
  struct Job {
    std::vector<HostId> hosts;
    SimTime hold_off_until;
  };
  // One action in flight of a job.
  struct Sequence {
    model::FindingId finding;
    std::string reason;
    std::vector<HostId> guilty;  // to be isolated and replaced
    std::vector<HostId> hosts;   // of the job, as they will be
    std::deque<SteeringStep> steps;
    SteeringAction current;  // told, not answered
  };
  struct Isolation {
    SimTime at;
    JobId job;
  };

  void Take(SimTime now, const JobRunning& event);
  void Take(SimTime now, const JobGone& event);
  void Take(SimTime now, const SpareOffered& event);
  void Take(SimTime now, const FindingTold& event);
  void Take(SimTime now, const StepDone& event);
  void Take(SimTime now, const HostTested& event);
  void Take(SimTime now, const IsolationUndone& event);

  std::vector<HostId> GuiltyHosts(const model::Finding& finding) const;
  // Why nothing is done; empty: it is.
  std::string FindObjection(SimTime now, const model::Finding& finding, const std::vector<HostId>& guilty) const;
  std::string FindLimit(SimTime now, const model::Finding& finding, const std::vector<HostId>& guilty) const;
  size_t NumIsolatedSince(SimTime since, JobId job) const;
  void Begin(SimTime now, const model::Finding& finding, std::vector<HostId> guilty);
  void Continue(SimTime now, JobId job);
  void Tell(SteeringStep step, model::FindingId finding, std::string reason);

  SteeringOptions options_;
  uint32_t num_cluster_hosts_;
  std::map<JobId, Job> jobs_;
  std::set<HostId> spares_;
  std::set<HostId> isolated_;
  std::map<JobId, Sequence> sequences_;
  std::vector<Isolation> history_;
  std::set<std::pair<JobId, model::FindingId>> judged_;
  uint64_t num_actions_ = 0;
  std::vector<SteeringAction> actions_;
};

}  // namespace fairlead::controller
