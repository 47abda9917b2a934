#include "topology/address_book.h"

#include <fmt/format.h>

#include <algorithm>

namespace fairlead::topology {
namespace {

Status HasAnotherMeaning(const IpAddress& address) {
  return {StatusCode::kAlreadyExists,
          fmt::format("address {}: has another meaning already; each address may have one", address.ToString())};
}

// Which of the node's cables to the network this one is; nothing if it is none of them.
std::optional<size_t> PortOf(const Fabric& fabric, NodeId node, LinkId wanted) {
  size_t port = 0;
  for (const LinkId link : fabric.links_from(node)) {
    if (link == wanted) return port;
    if (IsNetwork(fabric.tier(link))) ++port;
  }
  return std::nullopt;
}

// The cable from a leaf to a port of the NIC, preferably to port `port`; invalid when there is none.
LinkId FindDownlink(const Fabric& fabric, NodeId leaf, NicId nic, size_t port) {
  LinkId first;
  size_t at = 0;
  for (const LinkId up : fabric.links_from(fabric.node_of(nic))) {
    if (!IsNetwork(fabric.tier(up))) continue;
    const bool is_wanted = at++ == port;
    if (fabric.destination(up) != leaf) continue;
    if (is_wanted) return fabric.reverse(up);
    if (!first.valid()) first = fabric.reverse(up);
  }
  return first;
}

}  // namespace

Status AddressBook::AddNic(const IpAddress& address, NicId nic) {
  if (address.is_unset()) return InvalidArgument("address of a NIC: unset");
  if (links_.contains(address) || nics_.try_emplace(address, nic).first->second != nic) {
    return HasAnotherMeaning(address);
  }
  addresses_.try_emplace(nic, address);
  return OkStatus();
}

Status AddressBook::AddRouterInterface(const IpAddress& address, LinkId link) {
  if (address.is_unset()) return InvalidArgument("address of a router's interface: unset");
  if (nics_.contains(address) || links_.try_emplace(address, link).first->second != link) {
    return HasAnotherMeaning(address);
  }
  return OkStatus();
}

std::optional<NicId> AddressBook::FindNic(const IpAddress& address) const {
  const auto found = nics_.find(address);
  return found == nics_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<LinkId> AddressBook::FindLink(const IpAddress& address) const {
  const auto found = links_.find(address);
  return found == links_.end() ? std::nullopt : std::optional(found->second);
}

IpAddress AddressBook::AddressOf(NicId nic) const {
  const auto found = addresses_.find(nic);
  return found == addresses_.end() ? IpAddress() : found->second;
}

std::vector<LinkId> AddressBook::RouteOf(const Fabric& fabric, NicId source, NicId destination,
                                         std::span<const IpAddress> hops) const {
  std::vector<LinkId> route;
  route.reserve(hops.size() + 1);
  NodeId at = fabric.node_of(source);
  for (const IpAddress& hop : hops) {
    const std::optional<LinkId> link = FindLink(hop);
    if (!link || fabric.source(*link) != at) return {};
    route.push_back(*link);
    at = fabric.destination(*link);
  }
  if (route.empty()) return {};
  const std::optional<size_t> port = PortOf(fabric, fabric.node_of(source), route.front());
  const LinkId last = FindDownlink(fabric, at, destination, port.value_or(0));
  if (!last.valid()) return {};
  route.push_back(last);
  return route;
}

}  // namespace fairlead::topology
