#include "traffic/c4p/link_evidence.h"

#include <utility>

namespace fairlead::traffic::c4p {

LinkEvidence::LinkEvidence(PathCatalogue* catalogue, PortSteering* ports, const C4pOptions& options)
    : catalogue_(catalogue),
      ports_(ports),
      links_(catalogue->fabric().num_links(), options.health, options.attribution),
      quiet_(catalogue->fabric().num_links(), options.absence_probability) {}

std::vector<LinkStateChanged> LinkEvidence::Observe(SimTime now, std::span<const PortScanSeen> scans) {
  const std::vector<ProbeResult> results = ResultsOf(scans);
  return links_.Observe(now, results, quiet_.Observe(scans, catalogue_));
}

std::vector<ProbeResult> LinkEvidence::ResultsOf(std::span<const PortScanSeen> scans) {
  std::vector<ProbeResult> results;
  const auto add = [&results](const ProbedRoute& route, std::vector<LinkId> links, size_t num_probes) {
    results.push_back({.links = std::move(links),
                       .sent = route.sent,
                       .lost = route.lost,
                       .rtt = route.rtt,
                       .num_probes = num_probes});
  };
  for (const PortScanSeen& scan : scans) {
    for (const ProbedRoute& route : scan.routes) {
      if (!route.links.empty()) {
        add(route, route.links, route.ports.size());
        continue;
      }
      for (const uint16_t port : route.ports) add(route, ports_->KnownRoute(scan, port), 1);
    }
  }
  return results;
}

}  // namespace fairlead::traffic::c4p
