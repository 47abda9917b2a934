#include "traffic/c4p/path_outputs.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace fairlead::traffic::c4p {

void PathOutputs::Reject(std::string reason) {
  ++counters_->rejected_events;
  actions_.emplace_back(EventRejected{std::move(reason)});
}

void PathOutputs::Notify(QueuePairRef ref, MoveCause cause) {
  MoveCause& known = moves_.try_emplace(ref, cause).first->second;
  if (known >= MoveCause::kPortFound) known = cause;
}

std::vector<PathAction> PathOutputs::Take(const ConnectionTable& connections,
                                          const std::function<QueuePairAnswer(QueuePairRef)>& answer_of) {
  std::vector<PathAction> actions = std::exchange(actions_, {});
  std::move(after_.begin(), after_.end(), std::back_inserter(actions));
  after_.clear();
  std::map<HostId, std::vector<PathMove>> moves;
  for (const auto& [ref, cause] : std::exchange(moves_, {})) {
    const ConnectionState& connection = connections.at(ref.connection);
    ++counters_->moves[static_cast<size_t>(cause)];
    moves[connection.lease.host].push_back({.job = connection.lease.job,
                                            .connection = connection.request.connection,
                                            .queue_pair = ref.queue_pair,
                                            .answer = answer_of(ref),
                                            .cause = cause});
  }
  for (auto& [host, of_host] : moves) actions.emplace_back(PathsMoved{host, std::move(of_host)});
  for (auto& [host, scans] : std::exchange(scans_, {})) {
    for (const PortScan& scan : scans) counters_->ports_asked += scan.ports.size();
    actions.emplace_back(ScanPorts{host, std::move(scans)});
  }
  return actions;
}

}  // namespace fairlead::traffic::c4p
