#include "topology/fabric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/check.h"
#include "base/whole_number.h"

namespace fairlead::topology {

namespace {

// All of `text` as a decimal number without sign or leading zero, so that every thing has exactly one name.
std::optional<uint32_t> ParseNumber(std::string_view text) {
  const bool has_leading_zero = text.size() > 1 && text.front() == '0';
  return has_leading_zero ? std::nullopt : ParseWhole<uint32_t>(text);
}

}  // namespace

std::string_view Name(LinkTier tier) {
  constexpr std::array<std::string_view, kNumLinkTiers> kNames = {"nvlink", "pcie", "host-leaf", "leaf-spine",
                                                                  "spine-core"};
  return kNames[static_cast<size_t>(tier)];
}

std::string_view Name(NodeKind kind) {
  constexpr std::array<std::string_view, 8> kNames = {"gpu", "nvswitch", "pcie", "cpu", "nic", "leaf", "spine", "core"};
  return kNames[static_cast<size_t>(kind)];
}

std::string Fabric::HostName(HostId host) const {
  return hosts_.labels.empty() ? fmt::format("h{}", host.value()) : hosts_.labels[host.index()];
}

HostId Fabric::FindHost(std::string_view name) const {
  if (hosts_.labels.empty()) {
    const auto number = name.starts_with('h') ? ParseNumber(name.substr(1)) : std::nullopt;
    return number && *number < num_hosts() ? HostId(*number) : HostId();
  }
  const auto found = std::lower_bound(hosts_.by_label.begin(), hosts_.by_label.end(), name,
                                      [&](HostId host, std::string_view n) { return hosts_.labels[host.index()] < n; });
  return found != hosts_.by_label.end() && hosts_.labels[found->index()] == name ? *found : HostId();
}

std::string Fabric::NodeName(NodeId node) const {
  const auto label = std::lower_bound(nodes_.labels.begin(), nodes_.labels.end(), node,
                                      [](const auto& entry, NodeId n) { return entry.first < n; });
  if (label != nodes_.labels.end() && label->first == node) return label->second;
  const std::string own_name = fmt::format("{}{}", Name(nodes_.kinds[node]), nodes_.numbers[node]);
  return nodes_.hosts[node].valid() ? HostName(nodes_.hosts[node]) + "/" + own_name : own_name;
}

NodeId Fabric::FindNode(std::string_view name) const {
  for (const auto& [node, label] : nodes_.labels) {
    if (label == name) return node;
  }
  if (const size_t slash = name.rfind('/'); slash != std::string_view::npos) {
    const HostId host = FindHost(name.substr(0, slash));
    if (!host.valid()) return NodeId();
    const uint32_t first = gpus_.nodes[first_gpu(host)].value();
    for (uint32_t i = 0; i < hosts_.num_nodes[host]; ++i) {
      if (NodeName(NodeId(first + i)) == name) return NodeId(first + i);
    }
    return NodeId();
  }
  for (const NodeKind switch_kind : {NodeKind::kLeaf, NodeKind::kSpine, NodeKind::kCore}) {
    if (!name.starts_with(Name(switch_kind))) continue;
    const auto number = ParseNumber(name.substr(Name(switch_kind).size()));
    if (!number || *number >= switches(switch_kind).size()) continue;
    const NodeId node = switches(switch_kind)[*number];
    if (NodeName(node) == name) return node;
  }
  return NodeId();
}

std::string Fabric::LinkName(LinkId link) const {
  uint32_t parallel = 0;
  uint32_t number = 0;
  for (const LinkId other : links_from(source(link))) {
    if (destination(other) != destination(link)) continue;
    ++parallel;
    if (other == link) number = parallel;
  }
  std::string name = NodeName(source(link)) + "->" + NodeName(destination(link));
  if (parallel > 1) name += fmt::format("#{}", number);
  return name;
}

LinkId Fabric::FindLink(std::string_view name) const {
  const size_t arrow = name.find("->");
  if (arrow == std::string_view::npos) return LinkId();
  uint32_t number = 1;
  std::string_view end_name = name.substr(arrow + 2);
  if (const size_t hash = end_name.rfind('#'); hash != std::string_view::npos) {
    const auto parsed = ParseNumber(end_name.substr(hash + 1));
    if (!parsed || *parsed == 0) return LinkId();
    number = *parsed;
    end_name = end_name.substr(0, hash);
  }
  const NodeId from = FindNode(name.substr(0, arrow));
  const NodeId to = FindNode(end_name);
  if (!from.valid() || !to.valid()) return LinkId();
  for (const LinkId link : links_from(from)) {
    if (destination(link) == to && --number == 0) return link;
  }
  return LinkId();
}

Fabric Fabric::WithCapacities(std::span<const std::pair<LinkId, BytesPerSecond>> capacities) && {
  for (const auto& [link, capacity] : capacities) {
    FL_CHECK(std::isfinite(capacity.value()) && capacity.value() > 0);
    links_.capacities[link] = capacity;
  }
  return std::move(*this);
}

}  // namespace fairlead::topology
