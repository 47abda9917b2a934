#include "lab/port_balance.h"

#include <algorithm>

namespace fairlead::lab {

namespace {

// Args: end: of a NIC's cables, where bytes are counted: 0 is the NIC's own, 1 the leaf's.
PortBalance BalanceOfPorts(const LabPlan& plan, const LabRunResult& run, size_t end) {
  PortBalance balance;
  double num_nics = 0;
  for (const LabNic& nic : plan.nics) {
    if (nic.cables.size() < 2) continue;
    double sum = 0;
    double most = 0;
    for (const CableId cable : nic.cables) {
      const auto bytes =
          static_cast<double>(run.after.cables[cable][end].sent_bytes - run.before.cables[cable][end].sent_bytes);
      sum += bytes;
      most = std::max(most, bytes);
    }
    if (sum == 0) continue;
    ++num_nics;
    balance.mean += most / sum;
    balance.worst = std::max(balance.worst, most / sum);
  }
  if (num_nics > 0) balance.mean /= num_nics;
  return balance;
}

}  // namespace

PortBalance PortsSending(const LabPlan& plan, const LabRunResult& run) { return BalanceOfPorts(plan, run, 0); }

PortBalance PortsReceiving(const LabPlan& plan, const LabRunResult& run) { return BalanceOfPorts(plan, run, 1); }

}  // namespace fairlead::lab
