#include "controller/probe_rounds.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <variant>

#include "base/check.h"
#include "traffic/default_paths.h"

namespace fairlead::controller {
namespace {

// They go round at the end of the range that is used.
std::vector<uint16_t> PortsOf(const traffic::ProbePair& pair) {
  std::vector<uint16_t> ports;
  ports.reserve(pair.num_source_ports);
  const uint32_t first = pair.first_source_port - traffic::kFirstSourcePort;
  for (uint32_t i = 0; i < pair.num_source_ports; ++i) {
    const uint32_t offset = (first + i) % traffic::kNumSourcePorts;
    ports.push_back(static_cast<uint16_t>(traffic::kFirstSourcePort + offset));
  }
  return ports;
}

}  // namespace

void ProbeRounds::Order(const traffic::ScanPorts& action) {
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
  streams_->SendTo(action.host, std::move(order));
}

void ProbeRounds::Begin(const traffic::ProbeRoundStarted& action, SimTime now) {
  std::map<HostId, ProbesWanted> orders;
  for (const traffic::ProbeTask& task : action.tasks) {
    const HostId host = fabric_.host_of(task.pair.source);
    const IpAddress source = addresses_.AddressOf(task.pair.source);
    const IpAddress destination = addresses_.AddressOf(task.pair.destination);
    if (!streams_->IsConnected(host) || source.is_unset() || destination.is_unset()) continue;
    ProbesWanted& order = orders[host];
    order.round = action.round;
    order.scans.push_back({.source = source,
                           .destination = destination,
                           .plane = task.pair.plane,
                           .protocol = options_.protocol,
                           .destination_port = options_.destination_port,
                           .epoch = task.epoch,
                           .source_ports = PortsOf(task.pair)});
  }
  if (orders.empty()) return;
  Round& round = rounds_[action.round];
  round.due = now + options_.timeout;
  for (auto& [host, order] : orders) {
    round.waiting_for.insert(host);
    streams_->SendTo(host, std::move(order));
  }
}

bool ProbeRounds::Hear(HostId host, const ProbesFinished& message) {
  std::vector<traffic::PortScanSeen> scans;
  scans.reserve(message.scans.size());
  for (const PortScanSeen& seen : message.scans) {
    traffic::PortScanSeen translated;
    if (const std::string fault = words_.Translate(host, seen, &translated); !fault.empty()) {
      outputs_->Object(host, "probe: " + fault);
      continue;
    }
    scans.push_back(std::move(translated));
  }
  const auto round = rounds_.find(message.round);
  const bool was_asked = round != rounds_.end() && round->second.waiting_for.erase(host) > 0;
  if (!scans.empty()) {
    const size_t event = batch_->Add(traffic::PortsScanned{std::move(scans)});
    if (was_asked) away_.emplace_back(event, message.round);
  }
  return was_asked && round->second.waiting_for.empty();
}

void ProbeRounds::Keep(std::span<traffic::PathEvent> events) {
  for (const auto& [event, round] : std::exchange(away_, {})) {
    auto& scans = std::get<traffic::PortsScanned>(events[event]).scans;
    std::move(scans.begin(), scans.end(), std::back_inserter(rounds_.at(round).scans));
  }
}

std::map<uint64_t, ProbeRounds::Round>::const_iterator ProbeRounds::FindFinished(SimTime now) const {
  return std::find_if(rounds_.begin(), rounds_.end(),
                      [now](const auto& round) { return round.second.waiting_for.empty() || now >= round.second.due; });
}

traffic::ProbeRoundFinished ProbeRounds::TakeFinished(SimTime now) {
  const auto finished = FindFinished(now);
  FL_CHECK(finished != rounds_.end() && away_.empty());
  auto round = rounds_.extract(finished);
  return {.scans = std::move(round.mapped().scans), .are_ports_reported = true};
}

}  // namespace fairlead::controller
