// Checks of hosts before a job, after a repair, or on suspicion: burn-in, and transfers in rounds of pairs.
//
//     NodeCheckRequest --> burn-in of all --> node_check/pair_rounds.h --> a verdict of each
//
// Problem     a host that is bad shows it only in a job, where it costs the job; a pair that is slow accuses two hosts;
//             and a check must not disturb jobs.
// Method      hosts are checked together, compared with each other. If there are fewer than kDecisive, free hosts are
//             taken in as partners, near ones first. A host fails for what its transfers, its burn-in or its devices
//             show while it is checked; whatever could not be measured is said, and fails nobody.
// Guarantees  a host is in one check at a time. Hosts of jobs are not checked, or only with a hundredth of their NIC's
//             speed, which shows loss and nothing more. Each check ends. The last kKeptMax are kept, not over restarts.
// Cost        O(hosts x NICs) for each step.
// Reference   Dong et al., C4, HPCA 2025; docs/spec/c4.md section 7.4.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "controller/agent_streams.h"
#include "controller/host_test_runs.h"
#include "controller/job_table.h"
#include "controller/node_check_request.h"
#include "controller/traffic_outputs.h"
#include "controller/transfer_plan_run.h"
#include "node_check/pair_rounds.h"
#include "topology/address_book.h"
#include "topology/fabric.h"

namespace fairlead::controller {

struct CheckedHostView {
  enum class Verdict : uint8_t { kWaiting, kPassed, kFailed, kUndecided };

  HostId host;
  bool is_partner = false;  // taken in for the others' sake
  Verdict verdict = Verdict::kWaiting;
  std::vector<std::string> reasons;  // what was found, worst first
  std::optional<node_check::HostVerdict> transfers;
  std::optional<double> burn_in_score;
};

// "waiting", "passed", "failed", "undecided".
std::string_view Name(CheckedHostView::Verdict verdict);

struct NodeCheckView {
  uint64_t number = 0;
  bool while_training = false;  // rates say nothing
  std::string who;
  SimTime began;
  std::optional<SimTime> ended;
  size_t num_steps = 0;
  size_t num_finished_steps = 0;
  double usual_rate = 0;  // of a NIC, bytes/s; 0: not measured
  std::vector<CheckedHostView> hosts;
};

// Nothing: there is no such check, or it is not about this host.
std::optional<CheckedHostView> FindCheckedHost(const std::deque<NodeCheckView>& checks, uint64_t number, HostId host);

class NodeChecks {
 public:
  // So many hosts are needed to tell which one is bad.
  static constexpr size_t kDecisive = 3;
  static constexpr size_t kKeptMax = 16;
  static constexpr size_t kRunningMax = 16;

  // The references must outlive this.
  NodeChecks(const topology::Fabric& fabric, const topology::AddressBook& addresses, const JobTable& jobs,
             const AgentStreams& streams, HostTestRuns* tests, TrafficOutputs* outputs);

  // Empty: it can begin now.
  std::string FindFault(const NodeCheckRequest& request) const;
  // One with a fault is noted, and ends at once.
  void Begin(SimTime now, SimTime clock, const NodeCheckRequest& request);
  // A test has ended.
  void Take(SimTime now, const HostTestRuns::Ended& ended);
  // Judges checks that are over. Args: clock: for people.
  void Conclude(SimTime clock);

  // Oldest first.
  const std::deque<NodeCheckView>& views() const { return views_; }

 private:
  struct Check {
    NodeCheckRequest request;
    std::vector<TestedHost> hosts;                              // [of the view]
    std::map<uint64_t, size_t> burn_ins;                        // [test] host; those under way
    std::vector<std::optional<HostTestRuns::Ended>> burned_in;  // [host]
    node_check::PairRounds* rounds = nullptr;                   // of the run
    std::optional<TransferPlanRun> run;                         // after burn-in
    std::map<HostId, std::vector<model::HostSymptomRecord>> symptoms;
  };

  std::vector<IpAddress> NicsOf(HostId host) const;
  // Free, and its agent can test.
  bool IsReady(HostId host) const;
  std::vector<HostId> FindPartners(const std::vector<HostId>& hosts) const;
  double LineRateOf(HostId host) const;  // of its slowest NIC, bytes/s
  NodeCheckView* FindView(uint64_t number);
  void BeginTransfers(SimTime now, Check* check);
  void Take(SimTime now, Check* check, const HostTestRuns::Ended& ended);
  void Judge(const Check& check, NodeCheckView* view) const;
  void JudgeTransfers(const Check& check, NodeCheckView* view) const;
  void JudgeBurnIn(const Check& check, NodeCheckView* view) const;
  // Says what came of it.
  void Note(const NodeCheckView& view) const;

  const topology::Fabric& fabric_;
  const topology::AddressBook& addresses_;
  const JobTable& jobs_;
  const AgentStreams& streams_;
  HostTestRuns* tests_;
  TrafficOutputs* outputs_;
  std::map<uint64_t, Check> checks_;  // under way
  std::deque<NodeCheckView> views_;
};

}  // namespace fairlead::controller
