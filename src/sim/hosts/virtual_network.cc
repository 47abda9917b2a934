#include "sim/hosts/virtual_network.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "controller/probed_routes.h"

namespace fairlead::sim::hosts {

VirtualNetwork::VirtualNetwork(const topology::Fabric& fabric, uint64_t seed)
    : fabric_(fabric),
      seed_(seed),
      router_(fabric),
      carries_(fabric.num_links(), 1.0),
      gpu_beside_(fabric.num_nics(), GpuId()) {
  for (uint32_t n = 0; n < fabric_.num_nics(); ++n) FL_CHECK(addresses_.AddNic(AddressOf(NicId(n)), NicId(n)).ok());
  for (uint32_t g = 0; g < fabric_.num_gpus(); ++g) {
    GpuId& beside = gpu_beside_[fabric_.nic_of(GpuId(g))];
    if (!beside.valid()) beside = GpuId(g);
  }
  for (uint32_t l = 0; l < fabric_.num_links(); ++l) {
    const LinkId link(l);
    if (!topology::IsNetwork(fabric_.tier(link))) continue;
    FL_CHECK(addresses_.AddRouterInterface(IpAddress::FromIpv4(kFirstInterface + l), link).ok());
    const bool is_between_switches = fabric_.tier(link) == topology::LinkTier::kLeafSpine;
    if (is_between_switches && link < fabric_.reverse(link)) cables_.push_back(link);
  }
}

std::vector<NicId> VirtualNetwork::NicsOf(HostId host) const {
  std::vector<NicId> nics;
  for (uint32_t g = 0; g < fabric_.num_gpus_of(host); ++g) {
    nics.push_back(fabric_.nic_of(fabric_.gpu(host, g)));
  }
  std::ranges::sort(nics);
  nics.erase(std::ranges::unique(nics).begin(), nics.end());
  return nics;
}

void VirtualNetwork::SetCable(LinkId cable, bool is_up) {
  SetLink(cable, is_up);
  SetLink(fabric_.reverse(cable), is_up);
}

model::Path VirtualNetwork::RouteBetween(GpuId source, GpuId destination, const PacketHeader& packet) const {
  const model::FiveTuple tuple = {.source_address = NicOf(packet.source).value(),
                                  .destination_address = NicOf(packet.destination).value(),
                                  .source_port = packet.source_port,
                                  .destination_port = packet.destination_port,
                                  .protocol = packet.protocol};
  model::Path path;
  if (!router_.AppendEcmpPath(source, destination, tuple, seed_, &path)) return {};
  return path;
}

std::vector<LinkId> VirtualNetwork::RouteOf(const PacketHeader& packet) const {
  const GpuId from = gpu_beside_[NicOf(packet.source)];
  const GpuId to = gpu_beside_[NicOf(packet.destination)];
  if (!from.valid() || !to.valid()) return {};
  model::Path path = RouteBetween(from, to, packet);
  std::erase_if(path, [this](LinkId link) { return !topology::IsNetwork(fabric_.tier(link)); });
  return path;
}

bool VirtualNetwork::Arrives(const PacketHeader& packet) const {
  const std::vector<LinkId> route = RouteOf(packet);
  return !route.empty() && std::ranges::all_of(route, [this](LinkId link) { return IsUp(link); });
}

double VirtualNetwork::RateOf(const PacketHeader& packet) const {
  if (!Arrives(packet)) return 0;
  double rate = std::numeric_limits<double>::infinity();
  for (const LinkId link : RouteOf(packet)) rate = std::min(rate, fabric_.capacity(link).value());
  return rate;
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

}  // namespace fairlead::sim::hosts
