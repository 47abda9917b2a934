#include "sim/chaos/virtual_network.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "controller/probed_routes.h"
#include "topology/clos_fabrics.h"

namespace fairlead::sim::chaos {

namespace {

constexpr uint32_t kHostsPerLeaf = 3;
constexpr uint32_t kNumSpines = 4;

topology::Fabric MakeFabric(uint32_t num_hosts) {
  topology::ClosSpec spec;
  spec.leaves = std::max(2u, (num_hosts + kHostsPerLeaf - 1) / kHostsPerLeaf);
  spec.hosts_per_leaf = kHostsPerLeaf;
  spec.spines = kNumSpines;
  spec.host.gpus = 1;
  spec.host.nics = 1;
  spec.host.pcie_switches = 1;
  spec.host.sockets = 1;
  return topology::BuildClos(spec).value();
}

}  // namespace

VirtualNetwork::VirtualNetwork(uint32_t num_hosts, uint64_t seed)
    : num_hosts_(num_hosts),
      seed_(seed),
      fabric_(MakeFabric(num_hosts)),
      router_(fabric_),
      carries_(fabric_.num_links(), 1.0) {
  for (uint32_t n = 0; n < fabric_.num_nics(); ++n) FL_CHECK(addresses_.AddNic(NicOf(n), NicId(n)).ok());
  for (uint32_t l = 0; l < fabric_.num_links(); ++l) {
    const LinkId link(l);
    if (!topology::IsNetwork(fabric_.tier(link))) continue;
    FL_CHECK(addresses_.AddRouterInterface(IpAddress::FromIpv4(kFirstInterface + l), link).ok());
    const bool is_between_switches = fabric_.tier(link) == topology::LinkTier::kLeafSpine;
    if (is_between_switches && link < fabric_.reverse(link)) cables_.push_back(link);
  }
}

void VirtualNetwork::SetCable(LinkId cable, bool is_up) {
  carries_[cable] = carries_[fabric_.reverse(cable)] = is_up ? 1 : 0;
}

std::vector<LinkId> VirtualNetwork::RouteOf(const PacketHeader& packet) const {
  const uint32_t from = HostOf(packet.source);
  const uint32_t to = HostOf(packet.destination);
  const model::FiveTuple tuple = {.source_address = from,
                                  .destination_address = to,
                                  .source_port = packet.source_port,
                                  .destination_port = packet.destination_port,
                                  .protocol = packet.protocol};
  model::Path path;
  if (!router_.AppendEcmpPath(GpuId(from), GpuId(to), tuple, seed_, &path)) return {};
  std::erase_if(path, [this](LinkId link) { return !topology::IsNetwork(fabric_.tier(link)); });
  return path;
}

bool VirtualNetwork::Arrives(const PacketHeader& packet) const {
  const std::vector<LinkId> route = RouteOf(packet);
  return !route.empty() && std::ranges::all_of(route, [this](LinkId link) { return IsUp(link); });
}

controller::PortScanSeen VirtualNetwork::Probe(const controller::PortScanWanted& scan) const {
  controller::PortScanSeen seen = controller::NothingSeenOf(scan);
  for (const uint16_t port : scan.source_ports) {
    std::vector<LinkId> route = RouteOf({scan.source, scan.destination, scan.protocol, port, scan.destination_port});
    const bool is_lost = route.empty() || std::ranges::any_of(route, [this](LinkId link) { return !IsUp(link); });
    controller::ProbedRoute probed = {.hops = {},
                                      .sent = 1,
                                      .lost = is_lost ? uint64_t{1} : uint64_t{0},
                                      .rtt = Seconds(is_lost ? 0 : 1e-4),
                                      .source_ports = {port}};
    // The last link ends at the host, which is not probed. Routers behind a failed cable are silent.
    if (!route.empty()) route.pop_back();
    bool is_silent = false;
    for (const LinkId link : route) {
      is_silent = is_silent || !IsUp(link);
      probed.hops.push_back(is_silent ? IpAddress() : IpAddress::FromIpv4(kFirstInterface + link.value()));
    }
    controller::AddRoute(std::move(probed), &seen);
  }
  return seen;
}

}  // namespace fairlead::sim::chaos
