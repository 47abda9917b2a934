#include "traffic/c4p/port_steering.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "traffic/source_ports.h"

namespace fairlead::traffic::c4p {

PortSteering::PortSteering(PathCatalogue* catalogue, const PortMapOptions& options, uint64_t epoch_base,
                           uint64_t hash_configuration)
    : catalogue_(catalogue), map_(options), epoch_base_(epoch_base), hash_configuration_(hash_configuration) {
  FL_CHECK(epoch_base >= 1);
}

AddressPair PortSteering::PairOf(NicId source, NicId destination, uint32_t plane, uint8_t protocol,
                                 uint16_t destination_port) const {
  return {.source_address = source.value(),
          .destination_address = destination.value(),
          .protocol = protocol,
          .destination_port = destination_port,
          .source_leaf = catalogue_->ports(source)[plane].leaf,
          .destination_leaf = catalogue_->ports(destination)[plane].leaf,
          .plane = plane};
}

AddressPair PortSteering::PairOf(const ConnectionRequest& connection, uint32_t plane) const {
  return PairOf(connection.source, connection.destination, plane, connection.protocol, connection.destination_port);
}

PortSteering::Step PortSteering::FindStep(const AddressPair& pair, uint32_t path, uint16_t own_port,
                                          uint16_t socket_port, bool is_open) {
  using Kind = Step::Kind;
  Update(pair);
  const uint32_t num_paths = catalogue_->Paths(pair.source_leaf, pair.destination_leaf).num_paths;
  const PortRange range = PortsFor(pair.protocol, is_open);
  // By this connection, or by another one that was faster.
  if (socket_port != 0 && map_.IsReserved(pair, socket_port)) socket_port = 0;
  if (num_paths == 1 && !IsBonded(pair)) {  // where there is one way every port leads there
    if (own_port != 0) return {Kind::kUse, {own_port}};
    if (socket_port != 0) return {Kind::kUse, {socket_port}};
    std::vector<uint16_t> free = map_.PortsToScan(pair, 1, range);
    return free.empty() ? Step{Kind::kExhausted, {}} : Step{Kind::kUse, std::move(free)};
  }
  if (own_port != 0) {
    const std::optional<uint32_t> leads_to = map_.PathOf(pair, own_port);
    if (!leads_to) return {Kind::kProbe, {own_port}};
    if (*leads_to == path) return {Kind::kUse, {own_port}};
  }
  if (socket_port != 0 && map_.PathOf(pair, socket_port) == path) return {Kind::kUse, {socket_port}};
  const PortAnswer answer = map_.FindPort(pair, path, num_paths, range);
  switch (answer.kind) {
    case PortAnswer::Kind::kUse:
      return {Kind::kUse, {answer.port}};
    case PortAnswer::Kind::kConfirm:
      return {Kind::kProbe, {answer.port}};
    case PortAnswer::Kind::kScan:
      return {Kind::kScan, map_.PortsToScan(pair, answer.num_ports, range)};
    case PortAnswer::Kind::kExhausted:
      break;
  }
  return {};
}

AddressPair PortSteering::PairOf(const PortScanSeen& scan) const {
  return PairOf(scan.source, scan.destination, scan.plane, scan.protocol, scan.destination_port);
}

Status PortSteering::Learn(const PortScanSeen& scan, SimTime now) {
  FL_RETURN_IF_ERROR(Check(scan));
  const AddressPair pair = PairOf(scan);
  Update(pair);
  const LeafPaths& paths = catalogue_->Paths(pair.source_leaf, pair.destination_leaf);
  std::vector<SeenPort> seen;
  for (const ProbedRoute& route : scan.routes) {
    const uint32_t path = PathSeen(scan, paths, route.links);
    for (const uint16_t port : route.ports) {
      if (!IsSteeringPort(port)) {
        return InvalidArgument(
            fmt::format("c4p: probe: source port: expected {} to 65535, found {}", kFirstSourcePort, port));
      }
      // A port that is known is not forgotten because one probe of it was lost.
      if (path != kNoPath || !map_.PathOf(pair, port)) seen.push_back({port, path});
    }
  }
  return map_.Record(pair, seen, scan.epoch, now);
}

std::vector<LinkId> PortSteering::KnownRoute(const PortScanSeen& scan, uint16_t port) {
  if (!Check(scan).ok()) return {};
  const AddressPair pair = PairOf(scan);
  Update(pair);
  const std::optional<uint32_t> path = map_.PathOf(pair, port);
  const LeafPaths& paths = catalogue_->Paths(pair.source_leaf, pair.destination_leaf);
  if (!path || *path >= paths.num_paths || map_.EpochOf(pair.domain()) != scan.epoch) return {};
  std::vector<LinkId> route = {catalogue_->ports(scan.source)[scan.plane].up};
  const auto middle = paths.path(*path);
  route.insert(route.end(), middle.begin(), middle.end());
  route.push_back(catalogue_->ports(scan.destination)[scan.plane].down);
  return route;
}

Status PortSteering::Check(const PortScanSeen& scan) const {
  const topology::Fabric& fabric = catalogue_->fabric();
  for (const NicId nic : {scan.source, scan.destination}) {
    if (nic.index() >= fabric.num_nics()) {
      return InvalidArgument(
          fmt::format("c4p: probe: no NIC {}; the fabric has {} NICs", nic.value(), fabric.num_nics()));
    }
    if (scan.plane >= catalogue_->ports(nic).size()) {
      return InvalidArgument(fmt::format("c4p: probe: {} has no plane {}; it has {} ports",
                                         fabric.NodeName(fabric.node_of(nic)), scan.plane,
                                         catalogue_->ports(nic).size()));
    }
  }
  return OkStatus();
}

void PortSteering::Update(const AddressPair& pair) {
  const uint64_t epoch = EpochOf(pair.source_leaf, pair.destination_leaf);
  if (map_.EpochOf(pair.domain()) != epoch) map_.SetEpoch(pair.domain(), epoch, FingerprintOf(pair));
}

uint64_t PortSteering::FingerprintOf(const AddressPair& pair) {
  const LeafPaths& paths = catalogue_->Paths(pair.source_leaf, pair.destination_leaf);
  std::vector<LinkId> links;
  for (uint32_t i = 0; i < paths.num_paths; ++i) {
    const auto path = paths.path(i);
    if (catalogue_->IsUsable(path)) links.insert(links.end(), path.begin(), path.end());
  }
  return NextHopFingerprint(links, hash_configuration_);
}

bool PortSteering::IsBonded(const AddressPair& pair) const {
  return catalogue_->ports(NicId(pair.source_address)).size() > 1 ||
         catalogue_->ports(NicId(pair.destination_address)).size() > 1;
}

uint32_t PortSteering::PathSeen(const PortScanSeen& scan, const LeafPaths& paths, std::span<const LinkId> route) const {
  if (route.size() < 2) return kNoPath;
  const bool is_on_plane = route.front() == catalogue_->ports(scan.source)[scan.plane].up &&
                           route.back() == catalogue_->ports(scan.destination)[scan.plane].down;
  if (!is_on_plane) return kNoPath;
  return paths.Find(route.subspan(1, route.size() - 2)).value_or(kNoPath);
}

}  // namespace fairlead::traffic::c4p
