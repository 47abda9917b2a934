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

// Of one probe: far above what any agent sends, and sums of them fit.
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
  SayTo(action.host, std::move(order));
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
    SayTo(host, std::move(order));
  }
}

// Returns what is wrong.
std::string TrafficController::Translate(HostId host, const PortProbe& probe, traffic::PathProbe* translated) const {
  if (!IsOwn(host, probe.source)) {
    return fmt::format("source {} is no NIC of this host", probe.source.ToString());
  }
  const NicId source = *addresses_.FindNic(probe.source);
  const std::optional<NicId> destination = addresses_.FindNic(probe.destination);
  if (!destination) return fmt::format("destination {}: no NIC has this address", probe.destination.ToString());
  for (const NicId nic : {source, *destination}) {
    const auto links = fabric_.links_from(fabric_.node_of(nic));
    const auto num_ports =
        std::count_if(links.begin(), links.end(), [&](LinkId l) { return topology::IsNetwork(fabric_.tier(l)); });
    if (probe.plane >= num_ports) {
      return fmt::format("{} has no port {}", fabric_.NodeName(fabric_.node_of(nic)), probe.plane);
    }
  }
  if (probe.source_port == 0 || probe.destination_port == 0) return "ports: expected 1 to 65535, found 0";
  if (probe.sent > kPacketsMax || probe.lost > probe.sent) {
    return fmt::format("expected up to {} packets and no more lost than sent, found {} lost of {}", kPacketsMax,
                       probe.lost, probe.sent);
  }
  const bool has_rtt = std::isfinite(probe.rtt.value()) && probe.rtt.value() > 0;
  *translated = {.source = source,
                 .destination = *destination,
                 .plane = probe.plane,
                 .protocol = probe.protocol,
                 .destination_port = probe.destination_port,
                 .source_port = probe.source_port,
                 .epoch = probe.epoch,
                 .links = addresses_.RouteOf(fabric_, source, *destination, probe.hops),
                 .sent = probe.sent,
                 .lost = probe.lost,
                 .rtt = has_rtt ? probe.rtt : Seconds(0)};
  return "";
}

void TrafficController::Hear(HostId host, const ProbesFinished& word) {
  std::vector<traffic::PathProbe> probes;
  probes.reserve(word.probes.size());
  for (const PortProbe& probe : word.probes) {
    traffic::PathProbe translated;
    if (const std::string fault = Translate(host, probe, &translated); !fault.empty()) {
      Object(host, "probe: " + fault);
      continue;
    }
    probes.push_back(std::move(translated));
  }
  // Whoever was not asked, or is late, tells of ports only.
  const auto round = rounds_.find(word.round);
  const bool was_asked = round != rounds_.end() && round->second.waiting_for.erase(host) > 0;
  if (!probes.empty()) {
    if (was_asked) scanned_.emplace_back(events_.size(), word.round);
    Pass(traffic::PortsScanned{std::move(probes)});
  }
  if (was_asked && round->second.waiting_for.empty()) FinishRounds();
}

void TrafficController::KeepProbes(std::span<traffic::PathEvent> flushed) {
  for (const auto& [event, round] : std::exchange(scanned_, {})) {
    auto& probes = std::get<traffic::PortsScanned>(flushed[event]).probes;
    std::move(probes.begin(), probes.end(), std::back_inserter(rounds_.at(round).probes));
  }
}

// Those that everybody has answered, and those that have waited for long enough.
void TrafficController::FinishRounds() {
  for (auto round = rounds_.begin(); round != rounds_.end();) {
    if (!round->second.waiting_for.empty() && time_.now() < round->second.due) {
      ++round;
      continue;
    }
    if (!scanned_.empty()) Flush();
    Pass(traffic::ProbeRoundFinished{.probes = std::move(round->second.probes), .are_ports_told = true});
    round = rounds_.erase(round);
  }
}

}  // namespace fairlead::controller
