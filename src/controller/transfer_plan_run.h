// A plan of transfers between hosts (node_check), carried out by their agents step by step.
//
// Cost        O(transfers of a step x log) for each step.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/ip_address.h"
#include "base/sim_time.h"
#include "controller/host_test_runs.h"
#include "node_check/transfer_plan.h"

namespace fairlead::controller {

// A host of a plan: its training NICs in order, those that have an address.
struct TestedHost {
  HostId host;
  std::vector<IpAddress> nics;
};

class TransferPlanRun {
 public:
  // Args: plan: not over; hosts: [of the plan], with all NICs that it names; terms: of each transfer: all but its ends.
  // `tests` must outlive this.
  TransferPlanRun(std::unique_ptr<node_check::TransferPlan> plan, std::vector<TestedHost> hosts,
                  HostTestRuns::Transfer terms, HostTestRuns* tests);

  // Begins the first step.
  void Begin(SimTime now) { BeginStep(now); }
  bool IsWaitingFor(uint64_t test) const { return waiting_.contains(test); }
  // A test of this run has ended. Goes on to the next step after the last of one.
  void Take(SimTime now, const HostTestRuns::Ended& ended);
  bool is_over() const { return plan_->step().empty(); }
  size_t num_steps() const { return plan_->num_steps(); }
  size_t num_finished_steps() const { return plan_->num_finished_steps(); }

 private:
  void BeginStep(SimTime now);

  std::unique_ptr<node_check::TransferPlan> plan_;
  std::vector<TestedHost> hosts_;
  HostTestRuns::Transfer terms_;
  HostTestRuns* tests_;
  std::map<uint64_t, size_t> waiting_;  // [test] place in the step
  std::vector<node_check::TransferResult> results_;
};

}  // namespace fairlead::controller
