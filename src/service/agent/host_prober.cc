#include "service/agent/host_prober.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "controller/probed_routes.h"
#include "service/agent/path_probe.h"
#include "service/agent/taken_port_probe.h"

namespace fairlead::service {

namespace {

constexpr uint16_t kDiscardPort = 9;  // RFC 863; open nowhere, and harmless where it is
constexpr uint16_t kOurPort = 61'009;
constexpr std::chrono::minutes kRemembered{10};
constexpr std::chrono::milliseconds kPatience{100};
constexpr std::chrono::milliseconds kShortestPatience{5};
constexpr double kPatienceRtts = 8;
constexpr uint32_t kNumAttempts = 5;
// So few ports are asked for to confirm what is in use: not to see them moves connections.
constexpr size_t kFewPorts = 2;
constexpr size_t kNumRememberedMax = 65'536;

}  // namespace

Result<HostProber::Distance> HostProber::FindDistance(const IpAddress& source, const IpAddress& destination) {
  const auto known = distances_.find({source, destination});
  if (known != distances_.end() && Clock::now() < known->second.good_until) return known->second;
  PathProbeOptions options;
  options.destination = destination;
  options.destination_port = kDiscardPort;
  options.source = source;
  options.source_ports = {kOurPort, kOurPort + 1};  // the second one for when the first is in use
  options.timeout = kPatience;
  options.num_attempts = 2;
  FL_ASSIGN_OR_RETURN(const std::vector<ProbedPath> paths, ProbePaths(options));
  Distance distance{.num_routers = 0, .rtt = Seconds(), .good_until = Clock::now() + kRemembered};
  for (const ProbedPath& path : paths) {
    // Where the destination does not answer, the last router that does counts as the last one.
    for (uint32_t i = 0; i < path.hops.size(); ++i) {
      if (path.hops[i].kind != ProbedHop::Kind::kRouter) continue;
      distance.num_routers = std::max(distance.num_routers, i + 1);
      distance.rtt = std::max(distance.rtt, path.hops[i].rtt);
    }
  }
  if (distance.num_routers == 0) {
    return Unavailable(fmt::format("no router answers between {} and {}", source.ToString(), destination.ToString()));
  }
  if (distances_.size() >= kNumRememberedMax) distances_.clear();
  distances_[{source, destination}] = distance;
  return distance;
}

Result<controller::PortScanSeen> HostProber::Probe(const controller::PortScanWanted& scan) {
  FL_ASSIGN_OR_RETURN(const Distance distance, FindDistance(scan.source, scan.destination));
  PathProbeOptions options;
  options.destination = scan.destination;
  options.destination_port = scan.destination_port;
  options.source = scan.source;
  options.source_ports = scan.source_ports;
  options.last_hop = distance.num_routers;
  const auto patience = std::chrono::duration<double>(distance.rtt.value() * kPatienceRtts);
  options.timeout = std::clamp(std::chrono::ceil<std::chrono::milliseconds>(patience), kShortestPatience, kPatience);
  if (scan.source_ports.size() <= kFewPorts) options.timeout = kPatience;
  options.num_attempts = kNumAttempts;
  FL_ASSIGN_OR_RETURN(std::vector<ProbedPath> paths, ProbePaths(options));
  // No process waits for these, and a missing one moves its connection. Without the right to it they stay unseen.
  options.timeout = kPatience;
  static_cast<void>(ProbeTakenPorts(options, &paths).ok());
  controller::PortScanSeen seen = controller::NothingSeenOf(scan);
  for (const ProbedPath& path : paths) {
    controller::ProbedRoute route;
    route.source_ports = {path.source_port};
    if (!path.hops.empty()) {
      for (const ProbedHop& hop : path.hops) {
        if (hop.kind != ProbedHop::Kind::kDestination) route.hops.push_back(hop.address);
      }
      route.sent = 1;
      route.lost = path.hops.back().kind == ProbedHop::Kind::kSilent ? 1 : 0;
      route.rtt = path.hops.back().rtt;
    }
    controller::AddRoute(std::move(route), &seen);
  }
  return seen;
}

}  // namespace fairlead::service
