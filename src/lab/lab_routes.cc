#include "lab/lab_routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "lab/link_setup.h"

namespace fairlead::lab {

namespace {

constexpr uint32_t kFar = std::numeric_limits<uint32_t>::max();
// Most that a receiver lets a sender have under way. A lab has no flow control from link to link as RoCE fabrics have,
// so queues are made long and windows short: nothing is lost to congestion, and no sender waits for a timeout. 256 KiB
// are 10 ms at 200 Mb/s, more than processes wait for a processor.
constexpr uint32_t kWindowBytes = 256 * 1024;

// Distances in cables of switches from one NIC at a time.
class DistanceSearch {
 public:
  DistanceSearch(const LabPlan& plan, const CableHealth& health) : plan_(plan), health_(health) {}

  // [node]: kFar for hosts and for switches that are cut off.
  const IdVector<LabNodeId, uint32_t>& From(NicId nic) {
    distances_.assign(plan_.nodes.size(), kFar);
    queue_.clear();
    for (const CableId cable : plan_.nics[nic].cables) {
      if (health_[cable] > 0) Reach(plan_.cables[cable].ends[1].node, 1);
    }
    for (size_t i = 0; i < queue_.size(); ++i) {
      const LabNodeId at = queue_[i];
      for (const CableId cable : plan_.nodes[at].cables) {
        if (health_[cable] > 0) Reach(plan_.cables[cable].ends[1 - EndAt(plan_, cable, at)].node, distances_[at] + 1);
      }
    }
    return distances_;
  }

 private:
  void Reach(LabNodeId node, uint32_t distance) {
    if (plan_.nodes[node].role == NodeRole::kHost || distances_[node] != kFar) return;
    distances_[node] = distance;
    queue_.push_back(node);
  }

  const LabPlan& plan_;
  const CableHealth& health_;
  IdVector<LabNodeId, uint32_t> distances_;
  std::vector<LabNodeId> queue_;
};

// Cables over which switch `at` sends to `nic`.
std::vector<CableId> NextCables(const LabPlan& plan, const CableHealth& health, LabNodeId at, NicId nic,
                                const IdVector<LabNodeId, uint32_t>& distances) {
  std::vector<CableId> next;
  for (const CableId cable : plan.nodes[at].cables) {
    if (health[cable] <= 0 || distances[at] == kFar) continue;
    const LabNodeId other = plan.cables[cable].ends[1 - EndAt(plan, cable, at)].node;
    const bool is_last = plan.cables[cable].nic == nic;
    if (is_last || (distances[other] != kFar && distances[other] + 1 == distances[at])) next.push_back(cable);
  }
  return next;
}

std::string NextHops(const LabPlan& plan, LabNodeId node, const std::vector<CableId>& next) {
  std::string text;
  for (const CableId cable : next) {
    const size_t end = EndAt(plan, cable, node);
    const auto& ends = plan.cables[cable].ends;
    // A route with one next hop must be written without the word: the kernel treats it as another kind of route.
    text += fmt::format(" {}via {} dev {} onlink", next.size() > 1 ? "nexthop " : "",
                        FormatAddress(ends[1 - end].address), ends[end].interface);
  }
  return text;
}

// The table of the NIC, and of the first one the main table too, for sockets that are bound to no address.
std::string HostRouteCommands(const LabPlan& plan, LabNodeId node, const HostRoute& route) {
  const LabNode& host = plan.nodes[node];
  const uint32_t index = route.source.value() - host.nics.front().value();
  const std::string table = fmt::format("table {}", RoutingTable(index));
  std::string text;
  if (route.next.empty()) {
    text = fmt::format("route replace unreachable default {}\n", table);
    if (index == 0) text += "route replace unreachable default\n";
    return text;
  }
  const std::string tail = fmt::format("src {} window {}{}\n", FormatAddress(plan.nics[route.source].address),
                                       kWindowBytes, NextHops(plan, node, route.next));
  text = fmt::format("route replace default {} {}", table, tail);
  if (index == 0) text += "route replace default " + tail;
  return text;
}

std::string SwitchRouteCommand(const LabPlan& plan, LabNodeId node, const SwitchRoute& route) {
  const std::string destination = FormatAddress(plan.nics[route.destination].address);
  if (route.next.empty()) return fmt::format("route replace unreachable {}/32\n", destination);
  return fmt::format("route replace {}/32{}\n", destination, NextHops(plan, node, route.next));
}

}  // namespace

LabRoutes ComputeRoutes(const LabPlan& plan, const CableHealth& health) {
  FL_CHECK(health.size() == plan.cables.size());
  LabRoutes routes(plan.nodes.size());
  DistanceSearch search(plan, health);
  for (NicId nic(0u); nic.index() < plan.nics.size(); nic = NicId(nic.index() + 1)) {
    HostRoute host_route{.source = nic, .next = {}};
    std::copy_if(plan.nics[nic].cables.begin(), plan.nics[nic].cables.end(), std::back_inserter(host_route.next),
                 [&](CableId cable) { return health[cable] > 0; });
    routes[plan.nics[nic].host].of_host.push_back(std::move(host_route));
    const auto& distances = search.From(nic);
    for (LabNodeId node(0u); node.index() < plan.nodes.size(); node = LabNodeId(node.index() + 1)) {
      if (plan.nodes[node].role == NodeRole::kHost) continue;
      routes[node].of_switch.push_back({nic, NextCables(plan, health, node, nic, distances)});
    }
  }
  return routes;
}

std::string RouteCommands(const LabPlan& plan, LabNodeId node, const NodeRoutes& before, const NodeRoutes& after) {
  std::string text;
  for (size_t i = 0; i < after.of_host.size(); ++i) {
    if (i < before.of_host.size() && before.of_host[i] == after.of_host[i]) continue;
    text += HostRouteCommands(plan, node, after.of_host[i]);
  }
  for (size_t i = 0; i < after.of_switch.size(); ++i) {
    if (i < before.of_switch.size() && before.of_switch[i] == after.of_switch[i]) continue;
    text += SwitchRouteCommand(plan, node, after.of_switch[i]);
  }
  return text;
}

}  // namespace fairlead::lab
