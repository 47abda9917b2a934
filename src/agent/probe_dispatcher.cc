#include "agent/probe_dispatcher.h"

#include <algorithm>
#include <utility>

#include "controller/probed_routes.h"

namespace fairlead::agent {

void ProbeDispatcher::Take(const controller::ProbesWanted& message) {
  controller::ProbesWanted ours{.round = message.round, .scans = {}};
  for (const controller::PortScanWanted& scan : message.scans) {
    const bool is_ours = scan.protocol == 6 && addresses_.IsNic(scan.source) && !scan.destination.is_unset();
    if (is_ours) ours.scans.push_back(scan);
  }
  const bool is_nothing =
      std::all_of(ours.scans.begin(), ours.scans.end(), [](const auto& scan) { return scan.source_ports.empty(); });
  if (is_nothing) return outbox_.Send(controller::ProbesFinished{.round = message.round, .scans = {}});
  if (schedule_.Take(ours) > 0) outbox_.Note("more probes are wanted than this host can send: the oldest are left out");
}

void ProbeDispatcher::SendDue() {
  for (const auto urgency : {ProbeSchedule::kScan, ProbeSchedule::kWatch}) {
    if (const auto order = schedule_.Next(outbox_.now(), urgency)) {
      outbox_.Act(
          ProbePorts{.order = order->number, .is_urgent = urgency == ProbeSchedule::kScan, .scan = order->scan});
    }
  }
}

void ProbeDispatcher::Take(const ProbesDone& event) {
  const auto order = schedule_.Finish(event.order);
  if (!order.has_value()) return;
  if (order->round == 0) return outbox_.Send(controller::ProbesFinished{.round = 0, .scans = event.scans});
  std::vector<controller::PortScanSeen>& scans = rounds_[order->round];
  for (const controller::PortScanSeen& part : event.scans) {
    // Pieces of one scan follow one another.
    if (scans.empty() || !controller::AddPart(part, &scans.back())) scans.push_back(part);
  }
  if (!order->ends_round) return;
  outbox_.Send(controller::ProbesFinished{.round = order->round, .scans = std::move(scans)});
  rounds_.erase(order->round);
}

void ProbeDispatcher::Forget() {
  schedule_.Forget();
  rounds_.clear();
}

}  // namespace fairlead::agent
