#include "controller/probed_routes.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace fairlead::controller {
namespace {

auto OrderOf(const PortScanSeen& scan) {
  return std::tie(scan.source, scan.destination, scan.plane, scan.protocol, scan.destination_port, scan.epoch);
}

auto ShownBy(const ProbedRoute& route) { return std::tie(route.sent, route.lost, route.hops); }

}  // namespace

PortScanSeen NothingSeenOf(const PortScanWanted& scan) {
  return {.source = scan.source,
          .destination = scan.destination,
          .plane = scan.plane,
          .protocol = scan.protocol,
          .destination_port = scan.destination_port,
          .epoch = scan.epoch,
          .routes = {}};
}

void AddRoute(ProbedRoute route, PortScanSeen* scan) {
  const auto known =
      std::ranges::find_if(scan->routes, [&](const ProbedRoute& other) { return ShownBy(other) == ShownBy(route); });
  if (known == scan->routes.end()) {
    scan->routes.push_back(std::move(route));
    return;
  }
  known->source_ports.insert(known->source_ports.end(), route.source_ports.begin(), route.source_ports.end());
  const bool is_measured = route.rtt > Seconds(0);
  if (is_measured && (known->rtt <= Seconds(0) || route.rtt < known->rtt)) known->rtt = route.rtt;
}

bool AddPart(const PortScanSeen& part, PortScanSeen* scan) {
  if (OrderOf(part) != OrderOf(*scan)) return false;
  for (const ProbedRoute& route : part.routes) AddRoute(route, scan);
  return true;
}

}  // namespace fairlead::controller
