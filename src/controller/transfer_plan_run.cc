#include "controller/transfer_plan_run.h"

#include "base/check.h"

namespace fairlead::controller {

TransferPlanRun::TransferPlanRun(std::unique_ptr<node_check::TransferPlan> plan, std::vector<TestedHost> hosts,
                                 HostTestRuns::Transfer terms, HostTestRuns* tests)
    : plan_(std::move(plan)), hosts_(std::move(hosts)), terms_(std::move(terms)), tests_(tests) {}

void TransferPlanRun::BeginStep(SimTime now) {
  const std::span<const node_check::Transfer> step = plan_->step();
  results_.assign(step.size(), {});
  for (size_t i = 0; i < step.size(); ++i) {
    HostTestRuns::Transfer transfer = terms_;
    const TestedHost& sender = hosts_[step[i].sender];
    const TestedHost& receiver = hosts_[step[i].receiver];
    transfer.sender = sender.host;
    transfer.receiver = receiver.host;
    transfer.source = sender.nics.at(step[i].sender_nic);
    transfer.destination = receiver.nics.at(step[i].receiver_nic);
    waiting_[tests_->BeginTransfer(now, transfer)] = i;
  }
}

void TransferPlanRun::Take(SimTime now, const HostTestRuns::Ended& ended) {
  const auto found = waiting_.find(ended.test);
  FL_CHECK(found != waiting_.end());
  results_[found->second] = ended.transfer;
  waiting_.erase(found);
  if (!waiting_.empty()) return;
  plan_->Finish(results_);
  if (!is_over()) BeginStep(now);
}

}  // namespace fairlead::controller
