// Of the traffic controller: orders to probe, and what probes have seen.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "controller/traffic_controller.h"
#include "traffic/default_paths.h"

namespace fairlead::controller {
namespace {

// Of one port: far above what any agent sends, and sums of them fit.
constexpr uint64_t kPacketsMax = 1'000'000;

}  // namespace

void TrafficController::Carry(const traffic::ScanPorts& action) {
  ProbesWanted order;
  for (const traffic::PortScan& scan : action.scans) {
    order.scans.push_back({.source = addresses_.AddressOf(scan.source),
                           .destination = addresses_.AddressOf(scan.destination),
                           .plane = scan.plane,
                           .protocol = scan.protocol,
                           .destination_port = scan.destination_port,
                           .epoch = scan.epoch,
                           .source_ports = scan.ports});
  }
  SendTo(action.host, std::move(order));
}

void TrafficController::Carry(const traffic::ProbeRoundStarted& action) {
  std::map<HostId, ProbesWanted> orders;
  for (const traffic::ProbeTask& task : action.tasks) {
    const HostId host = fabric_.host_of(task.pair.source);
    const IpAddress source = addresses_.AddressOf(task.pair.source);
    const IpAddress destination = addresses_.AddressOf(task.pair.destination);
    if (!IsConnected(host) || source.is_unset() || destination.is_unset()) continue;
    ProbesWanted& order = orders[host];
    order.round = action.round;
    PortScanWanted& scan = order.scans.emplace_back(PortScanWanted{.source = source,
                                                                   .destination = destination,
                                                                   .plane = task.pair.plane,
                                                                   .protocol = options_.probe_protocol,
                                                                   .destination_port = options_.probe_destination_port,
                                                                   .epoch = task.epoch,
                                                                   .source_ports = {}});
    scan.source_ports.reserve(task.pair.num_source_ports);
    const uint32_t first = task.pair.first_source_port - traffic::kFirstSourcePort;
    for (uint32_t i = 0; i < task.pair.num_source_ports; ++i) {
      const uint32_t offset = (first + i) % traffic::kNumSourcePorts;
      scan.source_ports.push_back(static_cast<uint16_t>(traffic::kFirstSourcePort + offset));
    }
  }
  if (orders.empty()) return;
  ProbeRound& round = rounds_[action.round];
  round.due = time_.now() + options_.probe_timeout;
  for (auto& [host, order] : orders) {
    round.waiting_for.insert(host);
    SendTo(host, std::move(order));
  }
}

// Returns what is wrong.
std::string TrafficController::Translate(HostId host, const PortScanSeen& seen,
                                         traffic::PortScanSeen* translated) const {
  if (!IsOwn(host, seen.source)) {
    return fmt::format("source {} is not a NIC of this host", seen.source.ToString());
  }
  const NicId source = *addresses_.FindNic(seen.source);
  const std::optional<NicId> destination = addresses_.FindNic(seen.destination);
  if (!destination) return fmt::format("destination {}: no NIC has this address", seen.destination.ToString());
  for (const NicId nic : {source, *destination}) {
    const auto links = fabric_.links_from(fabric_.node_of(nic));
    const auto num_ports =
        std::count_if(links.begin(), links.end(), [&](LinkId l) { return topology::IsNetwork(fabric_.tier(l)); });
    if (seen.plane >= num_ports) {
      return fmt::format("{} has no port {}", fabric_.NodeName(fabric_.node_of(nic)), seen.plane);
    }
  }
  if (seen.destination_port == 0) return "ports: expected 1 to 65535, found 0";
  *translated = {.source = source,
                 .destination = *destination,
                 .plane = seen.plane,
                 .protocol = seen.protocol,
                 .destination_port = seen.destination_port,
                 .epoch = seen.epoch,
                 .routes = {}};
  translated->routes.reserve(seen.routes.size());
  for (const ProbedRoute& route : seen.routes) {
    if (std::ranges::find(route.source_ports, 0) != route.source_ports.end()) {
      return "ports: expected 1 to 65535, found 0";
    }
    if (route.sent > kPacketsMax || route.lost > route.sent) {
      return fmt::format("expected up to {} packets and no more lost than sent, found {} lost of {}", kPacketsMax,
                         route.lost, route.sent);
    }
    const bool has_rtt = std::isfinite(route.rtt.value()) && route.rtt.value() > 0;
    translated->routes.push_back({.links = addresses_.RouteOf(fabric_, source, *destination, route.hops),
                                  .sent = route.sent,
                                  .lost = route.lost,
                                  .rtt = has_rtt ? route.rtt : Seconds(0),
                                  .ports = route.source_ports});
  }
  return "";
}

void TrafficController::Hear(HostId host, const ProbesFinished& message) {
  std::vector<traffic::PortScanSeen> scans;
  scans.reserve(message.scans.size());
  for (const PortScanSeen& seen : message.scans) {
    traffic::PortScanSeen translated;
    if (const std::string fault = Translate(host, seen, &translated); !fault.empty()) {
      Object(host, "probe: " + fault);
      continue;
    }
    scans.push_back(std::move(translated));
  }
  // A host that was not asked, or is late, contributes ports only.
  const auto round = rounds_.find(message.round);
  const bool was_asked = round != rounds_.end() && round->second.waiting_for.erase(host) > 0;
  if (!scans.empty()) {
    if (was_asked) scanned_.emplace_back(events_.size(), message.round);
    Pass(traffic::PortsScanned{std::move(scans)});
  }
  if (was_asked && round->second.waiting_for.empty()) FinishRounds();
}

void TrafficController::KeepProbes(std::span<traffic::PathEvent> flushed) {
  for (const auto& [event, round] : std::exchange(scanned_, {})) {
    auto& scans = std::get<traffic::PortsScanned>(flushed[event]).scans;
    std::move(scans.begin(), scans.end(), std::back_inserter(rounds_.at(round).scans));
  }
}

// Those that all hosts have answered, and those that have waited long enough.
void TrafficController::FinishRounds() {
  for (auto round = rounds_.begin(); round != rounds_.end();) {
    if (!round->second.waiting_for.empty() && time_.now() < round->second.due) {
      ++round;
      continue;
    }
    if (!scanned_.empty()) Flush();
    Pass(traffic::ProbeRoundFinished{.scans = std::move(round->second.scans), .are_ports_reported = true});
    round = rounds_.erase(round);
  }
}

}  // namespace fairlead::controller
