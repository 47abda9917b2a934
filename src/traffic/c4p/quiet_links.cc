#include "traffic/c4p/quiet_links.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/check.h"

namespace fairlead::traffic::c4p {

namespace {

// Of the past: older shares count half.
constexpr double kMemory = 1000;

}  // namespace

QuietLinks::QuietLinks(size_t num_links, double absence_probability)
    : limit_(-std::log(absence_probability)), links_(num_links), uses_(num_links, 0) {
  FL_CHECK(absence_probability > 0 && absence_probability < 1);
}

void QuietLinks::Expect(NodeId from_leaf, NodeId to_leaf, double num_probes, PathCatalogue* catalogue) {
  const LeafPaths& paths = catalogue->Paths(from_leaf, to_leaf);
  uint32_t num_usable = 0;
  std::vector<LinkId> touched;
  for (uint32_t p = 0; p < paths.num_paths; ++p) {
    if (!catalogue->IsUsable(paths.path(p))) continue;
    ++num_usable;
    for (const LinkId link : paths.path(p)) {
      if (uses_[link]++ == 0) touched.push_back(link);
    }
  }
  for (const LinkId link : touched) {
    links_[link].pending += num_probes * std::exchange(uses_[link], 0) / num_usable;
  }
}

std::vector<QuietLinks::QuietLink> QuietLinks::Observe(std::span<const PortScanSeen> scans, PathCatalogue* catalogue) {
  std::map<std::pair<NodeId, NodeId>, size_t> pairs;
  auto pair = pairs.end();  // that of the last route: a scan has one
  const topology::Fabric& fabric = catalogue->fabric();
  for (const PortScanSeen& scan : scans) {
    for (const ProbedRoute& route : scan.routes) {
      if (route.links.size() < 3) continue;  // not seen, or leaf to leaf without a link in between
      const std::span<const LinkId> middle(route.links.begin() + 1, route.links.end() - 1);
      const std::pair leaves(fabric.source(middle.front()), fabric.destination(middle.back()));
      for (const LinkId link : middle) links_[link].now += static_cast<double>(route.ports.size());
      if (!catalogue->IsUsable(middle)) continue;
      if (pair == pairs.end() || pair->first != leaves) pair = pairs.try_emplace(leaves, 0).first;
      pair->second += route.ports.size();
    }
  }
  for (const auto& [leaves, count] : pairs) {
    Expect(leaves.first, leaves.second, static_cast<double>(count), catalogue);
  }
  std::vector<QuietLink> quiet;
  for (LinkId id(0u); id.index() < links_.size(); id = LinkId(id.value() + 1)) {
    Link& link = links_[id];
    if (link.now > 0) {
      link.expected += std::exchange(link.pending, 0);
      link.seen += std::exchange(link.now, 0);
      if (link.expected > kMemory) {
        link.expected /= 2;
        link.seen /= 2;
      }
    }
    if (catalogue->health(id) == 0) continue;
    const double share = link.expected > 0 ? std::min(1.0, link.seen / link.expected) : 1.0;
    if (link.pending * share >= limit_) quiet.push_back({id, link.pending * share});
  }
  return quiet;
}

}  // namespace fairlead::traffic::c4p
