#include "controller/agent_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace fairlead::controller {
namespace {

constexpr size_t kJobNameMax = 128;  // of a key (model/job_identity.h)
// Of one port: far above what any agent sends, and sums of them fit.
constexpr uint64_t kPacketsMax = 1'000'000;

// Of the network.
std::ptrdiff_t NumPortsOf(const topology::Fabric& fabric, NicId nic) {
  const auto links = fabric.links_from(fabric.node_of(nic));
  return std::count_if(links.begin(), links.end(), [&](LinkId link) { return topology::IsNetwork(fabric.tier(link)); });
}

// Empty: none.
std::string FaultOf(const ProbedRoute& route) {
  if (std::ranges::find(route.source_ports, 0) != route.source_ports.end()) {
    return "ports: expected 1 to 65535, found 0";
  }
  if (route.sent <= kPacketsMax && route.lost <= route.sent) return "";
  return fmt::format("expected up to {} packets and no more lost than sent, found {} lost of {}", kPacketsMax,
                     route.lost, route.sent);
}

}  // namespace

std::string FaultOfJobName(const std::string& name) {
  const bool is_printable = std::all_of(name.begin(), name.end(), [](char c) { return c >= 0x20 && c <= 0x7e; });
  if (!name.empty() && name.size() <= kJobNameMax && is_printable) return "";
  return fmt::format("job name: expected 1 to {} printable characters, found {}", kJobNameMax,
                     is_printable ? fmt::format("{}", name.size()) : "others");
}

bool AgentWords::IsOwn(HostId host, const IpAddress& address) const {
  const std::optional<NicId> nic = addresses_.FindNic(address);
  return nic && fabric_.host_of(*nic) == host;
}

std::string AgentWords::Translate(HostId host, const WantedConnection& wanted,
                                  traffic::ConnectionRequest* request) const {
  const std::optional<NicId> source = addresses_.FindNic(wanted.source);
  if (!source || fabric_.host_of(*source) != host) {
    return fmt::format("source {} is not a NIC of host {}: agents ask for their own host only",
                       wanted.source.ToString(), fabric_.HostName(host));
  }
  const std::optional<NicId> destination = addresses_.FindNic(wanted.destination);
  if (!destination) {
    return fmt::format("destination {}: no NIC of the address book has it", wanted.destination.ToString());
  }
  if (wanted.protocol != 6 && wanted.protocol != 17) {
    return fmt::format("protocol: expected 6 (TCP) or 17 (RoCE), found {}", wanted.protocol);
  }
  if (wanted.destination_port == 0) return "destination port: expected 1 to 65535, found 0";
  if (wanted.num_queue_pairs < 1 || wanted.num_queue_pairs > traffic::kMaxQueuePairs) {
    return fmt::format("queue pairs: expected 1 to {}, found {}", traffic::kMaxQueuePairs, wanted.num_queue_pairs);
  }
  *request = traffic::Renamed(wanted, *source, *destination);
  return "";
}

std::string AgentWords::Translate(HostId host, const HeldConnection& held, traffic::HeldConnection* translated) const {
  std::string fault = Translate(host, held.wanted, &translated->request);
  const size_t expected = held.wanted.num_queue_pairs;
  if (fault.empty() && (held.queue_pairs.size() != expected || held.socket_ports.size() != expected)) {
    return fmt::format("expected {} queue pairs, found {} paths and {} ports", expected, held.queue_pairs.size(),
                       held.socket_ports.size());
  }
  translated->queue_pairs = held.queue_pairs;
  return fault;
}

std::string AgentWords::Translate(HostId host, const PortScanSeen& seen, traffic::PortScanSeen* translated) const {
  if (!IsOwn(host, seen.source)) {
    return fmt::format("source {} is not a NIC of this host", seen.source.ToString());
  }
  const NicId source = *addresses_.FindNic(seen.source);
  const std::optional<NicId> destination = addresses_.FindNic(seen.destination);
  if (!destination) return fmt::format("destination {}: no NIC has this address", seen.destination.ToString());
  for (const NicId nic : {source, *destination}) {
    if (seen.plane >= NumPortsOf(fabric_, nic)) {
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
    if (std::string fault = FaultOf(route); !fault.empty()) return fault;
    const bool has_rtt = std::isfinite(route.rtt.value()) && route.rtt.value() > 0;
    translated->routes.push_back({.links = addresses_.RouteOf(fabric_, source, *destination, route.hops),
                                  .sent = route.sent,
                                  .lost = route.lost,
                                  .rtt = has_rtt ? route.rtt : Seconds(0),
                                  .ports = route.source_ports});
  }
  return "";
}

}  // namespace fairlead::controller
