#include "topology/fabric_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/check.h"
#include "topology/locality.h"

namespace fairlead::topology {

namespace {

// The tier of a cable between two kinds, or nothing when they are no neighbours.
std::optional<LinkTier> TierBetween(NodeKind a, NodeKind b) {
  const auto [low, high] = std::minmax(a, b);
  using enum NodeKind;
  if (low == kGpu && high == kNvSwitch) return LinkTier::kNvlink;
  if (low == kGpu && high == kPcieSwitch) return LinkTier::kPcie;
  if (low == kPcieSwitch && (high == kCpu || high == kNic)) return LinkTier::kPcie;
  if (low == kCpu && high == kCpu) return LinkTier::kPcie;
  if (low == kNic && high == kLeaf) return LinkTier::kHostLeaf;
  if (low == kLeaf && high == kSpine) return LinkTier::kLeafSpine;
  if (low == kSpine && high == kCore) return LinkTier::kSpineCore;
  return std::nullopt;
}

// '#' and "->" are what link names are made of.
bool IsUsableName(std::string_view name) {
  return !name.empty() && name.find('#') == std::string_view::npos && name.find("->") == std::string_view::npos;
}

Status DuplicateName(std::string_view what, std::string_view name) {
  return InvalidArgument(fmt::format("{} '{}' appears twice; expected every name once", what, name));
}

}  // namespace

Status FabricBuilder::Reserve(const HostSpec& host, double num_hosts, double num_switches, double num_switch_cables) {
  FL_RETURN_IF_ERROR(host.Validate());
  const double cables_per_host = static_cast<double>(host.NumInnerCables() + host.NumPorts());
  const double num_links = 2 * (num_hosts * cables_per_host + num_switch_cables);
  const double nodes_per_host = host.gpus + 1.0 + host.pcie_switches + host.sockets + host.nics;
  const double num_nodes = num_hosts * nodes_per_host + num_switches;
  // Negated, so that a not-a-number is refused as well. A node without links is possible (spines of one leaf, none of
  // parallel cables), hence the second half.
  const double max_links = static_cast<double>(max_links_);
  if (!(num_links <= max_links && num_nodes <= max_links)) {
    return Status(StatusCode::kResourceExhausted,
                  fmt::format("the fabric is too large: expected at most {} links and nodes, found {:.0f} links and "
                              "{:.0f} nodes",
                              max_links_, num_links, num_nodes));
  }
  const auto links = static_cast<size_t>(num_links);
  const auto nodes = static_cast<size_t>(num_nodes);
  fabric_.links_.sources.raw().reserve(links);
  fabric_.links_.destinations.raw().reserve(links);
  fabric_.links_.capacities.raw().reserve(links);
  fabric_.links_.tiers.raw().reserve(links);
  fabric_.nodes_.kinds.raw().reserve(nodes);
  fabric_.nodes_.numbers.raw().reserve(nodes);
  fabric_.nodes_.hosts.raw().reserve(nodes);
  attached_.raw().reserve(nodes);
  return OkStatus();
}

void FabricBuilder::KeepError(Status status) {
  if (error_.ok()) error_ = std::move(status);
}

NodeId FabricBuilder::AddNode(NodeKind kind, uint32_t number, HostId host) {
  fabric_.nodes_.numbers.push_back(number);
  fabric_.nodes_.hosts.push_back(host);
  attached_.push_back(BytesPerSecond(0));
  return fabric_.nodes_.kinds.push_back(kind);
}

HostId FabricBuilder::AddHost(const HostSpec& spec, std::string label) {
  const HostId host(fabric_.num_hosts());
  KeepError(spec.Validate());
  if (!error_.ok()) return host;
  if (host == HostId(0u)) {
    fabric_.gpus_.peak = spec.gpu_peak;
    fabric_.gpus_.model = spec.gpu_model;
  } else if (fabric_.gpus_.peak != spec.gpu_peak || fabric_.gpus_.model != spec.gpu_model) {
    KeepError(InvalidArgument(fmt::format("hosts differ in their GPUs ('{}', '{}'); expected one model and peak",
                                          fabric_.gpus_.model, spec.gpu_model)));
  }
  if (!label.empty() || !fabric_.hosts_.labels.empty()) {
    if (!IsUsableName(label) || fabric_.hosts_.labels.size() != host.index()) {
      KeepError(InvalidArgument(
          fmt::format("host name '{}': expected a name without '#' and '->' for every host or for none", label)));
    }
    fabric_.hosts_.labels.push_back(std::move(label));
  }
  const NodeId first(fabric_.num_nodes());
  AddHostNodes(spec, host);
  AddHostCables(spec, first);
  return host;
}

// GPUs, NVSwitch, PCIe switches, CPUs, NICs: AddHostCables relies on this order.
void FabricBuilder::AddHostNodes(const HostSpec& spec, HostId host) {
  const size_t first = fabric_.num_nodes();
  const NicId first_nic(fabric_.num_nics());
  for (uint32_t g = 0; g < spec.gpus; ++g) {
    fabric_.gpus_.nodes.push_back(AddNode(NodeKind::kGpu, g, host));
    fabric_.gpus_.hosts.push_back(host);
    fabric_.gpus_.nics.push_back(NicId(first_nic.value() + spec.NicOfGpu(g)));
  }
  if (spec.nvlink_speed.value() > 0) AddNode(NodeKind::kNvSwitch, 0, host);
  for (uint32_t s = 0; s < spec.pcie_switches; ++s) AddNode(NodeKind::kPcieSwitch, s, host);
  for (uint32_t c = 0; c < spec.sockets; ++c) AddNode(NodeKind::kCpu, c, host);
  for (uint32_t n = 0; n < spec.nics; ++n) {
    fabric_.nics_.nodes.push_back(AddNode(NodeKind::kNic, n, host));
    fabric_.nics_.hosts.push_back(host);
  }
  fabric_.hosts_.first_gpu.emplace_back(fabric_.num_gpus());
  fabric_.hosts_.first_nic.emplace_back(fabric_.num_nics());
  fabric_.hosts_.num_nodes.push_back(static_cast<uint32_t>(fabric_.num_nodes() - first));
}

// NVLink cables come first: where two ways are equally short, the router takes the lower LinkId.
void FabricBuilder::AddHostCables(const HostSpec& spec, NodeId first) {
  const uint32_t gpu = first.value();
  const bool has_nvlink = spec.nvlink_speed.value() > 0;
  const uint32_t nvswitch = gpu + spec.gpus;
  const uint32_t pcie_switch = nvswitch + (has_nvlink ? 1 : 0);
  const uint32_t cpu = pcie_switch + spec.pcie_switches;
  const uint32_t nic = cpu + spec.sockets;
  for (uint32_t g = 0; has_nvlink && g < spec.gpus; ++g) {
    AddCable(NodeId(gpu + g), NodeId(nvswitch), spec.nvlink_speed);
  }
  for (uint32_t g = 0; g < spec.gpus; ++g) {
    AddCable(NodeId(gpu + g), NodeId(pcie_switch + spec.PcieSwitchOfGpu(g)), spec.pcie_speed);
  }
  for (uint32_t n = 0; n < spec.nics; ++n) {
    AddCable(NodeId(pcie_switch + spec.PcieSwitchOfNic(n)), NodeId(nic + n), spec.pcie_speed);
  }
  for (uint32_t s = 0; s < spec.pcie_switches; ++s) {
    AddCable(NodeId(pcie_switch + s), NodeId(cpu + spec.SocketOfPcieSwitch(s)), spec.pcie_speed);
  }
  for (uint32_t a = 0; a < spec.sockets; ++a) {
    for (uint32_t b = a + 1; b < spec.sockets; ++b) AddCable(NodeId(cpu + a), NodeId(cpu + b), spec.socket_speed);
  }
}

NodeId FabricBuilder::AddSwitch(NodeKind kind, std::string label) {
  FL_CHECK(IsNetworkSwitch(kind));
  std::vector<NodeId>& switches = fabric_.switches_[static_cast<size_t>(kind) - static_cast<size_t>(NodeKind::kLeaf)];
  const NodeId node = AddNode(kind, static_cast<uint32_t>(switches.size()), HostId());
  switches.push_back(node);
  if (!label.empty()) {
    if (!IsUsableName(label)) {
      KeepError(InvalidArgument(fmt::format("switch name '{}': expected a name without '#' and '->'", label)));
    }
    fabric_.nodes_.labels.emplace_back(node, std::move(label));
  }
  return node;
}

std::vector<NodeId> FabricBuilder::AddSwitches(NodeKind kind, uint32_t count) {
  std::vector<NodeId> switches;
  switches.reserve(count);
  for (uint32_t i = 0; i < count; ++i) switches.push_back(AddSwitch(kind));
  return switches;
}

LinkId FabricBuilder::AddCable(NodeId a, NodeId b, BytesPerSecond capacity) {
  if (!error_.ok()) return LinkId();
  const auto tier = TierBetween(fabric_.nodes_.kinds[a], fabric_.nodes_.kinds[b]);
  if (!tier) {
    KeepError(
        InvalidArgument(fmt::format("no cable can join {} and {}; expected neighbouring kinds, such as nic and leaf",
                                    fabric_.NodeName(a), fabric_.NodeName(b))));
    return LinkId();
  }
  if (!std::isfinite(capacity.value()) || capacity.value() <= 0) {
    KeepError(InvalidArgument(fmt::format("cable {} - {}: expected a positive, finite capacity, found {} B/s",
                                          fabric_.NodeName(a), fabric_.NodeName(b), capacity.value())));
    return LinkId();
  }
  if (fabric_.num_links() + 2 > max_links_) {
    KeepError(Status(StatusCode::kResourceExhausted,
                     fmt::format("the fabric is too large: expected at most {} links", max_links_)));
    return LinkId();
  }
  const LinkId forward = fabric_.links_.sources.push_back(a);
  fabric_.links_.sources.push_back(b);
  fabric_.links_.destinations.push_back(b);
  fabric_.links_.destinations.push_back(a);
  for (int direction = 0; direction < 2; ++direction) {
    fabric_.links_.capacities.push_back(capacity);
    fabric_.links_.tiers.push_back(*tier);
  }
  attached_[a] += capacity;
  attached_[b] += capacity;
  return forward;
}

void FabricBuilder::CablePorts(HostId host, const HostSpec& spec, std::span<const NodeId> leaves) {
  if (!error_.ok()) return;
  uint32_t port = 0;
  for (uint32_t n = 0; n < spec.nics; ++n) {
    for (uint32_t p = 0; p < spec.ports_per_nic; ++p) {
      AddCable(nic(host, n), leaves[port++ % leaves.size()], spec.port_speed);
    }
  }
}

// Counting sort of the links by source; stable, so each node's links stay in LinkId order.
void FabricBuilder::IndexLinks() {
  std::vector<uint32_t>& first = fabric_.links_.from_first;
  first.assign(fabric_.num_nodes() + 1, 0);
  for (const NodeId source : fabric_.links_.sources) ++first[source.index() + 1];
  for (size_t n = 1; n < first.size(); ++n) first[n] += first[n - 1];
  std::vector<uint32_t> next(first.begin(), first.end() - 1);
  fabric_.links_.from.resize(fabric_.num_links());
  for (size_t l = 0; l < fabric_.num_links(); ++l) {
    fabric_.links_.from[next[fabric_.links_.sources[LinkId(l)].index()]++] = LinkId(l);
  }
}

Status FabricBuilder::IndexNames() {
  if (!fabric_.hosts_.labels.empty()) {
    const auto& labels = fabric_.hosts_.labels;
    if (labels.size() != fabric_.num_hosts())
      return InvalidArgument("only some hosts have a name; expected all or none");
    std::vector<HostId>& by_label = fabric_.hosts_.by_label;
    for (size_t h = 0; h < labels.size(); ++h) by_label.emplace_back(h);
    const auto label_of = [&](HostId host) -> const std::string& { return labels[host.index()]; };
    std::sort(by_label.begin(), by_label.end(), [&](HostId a, HostId b) { return label_of(a) < label_of(b); });
    for (size_t i = 1; i < by_label.size(); ++i) {
      if (label_of(by_label[i - 1]) == label_of(by_label[i])) return DuplicateName("host", label_of(by_label[i]));
    }
  }
  std::vector<std::string> names;
  for (const auto& [node, label] : fabric_.nodes_.labels) names.push_back(label);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  return twice == names.end() ? OkStatus() : DuplicateName("switch", *twice);
}

Status FabricBuilder::CheckNicsAreCabled() const {
  for (size_t n = 0; n < fabric_.num_nics(); ++n) {
    const NodeId node = fabric_.node_of(NicId(n));
    const auto links = fabric_.links_from(node);
    if (std::none_of(links.begin(), links.end(), [&](LinkId l) { return IsNetwork(fabric_.tier(l)); })) {
      return InvalidArgument(fmt::format("{} has no cable; expected one to a leaf", fabric_.NodeName(node)));
    }
  }
  return OkStatus();
}

Status FabricBuilder::CheckSwitchSizes() const {
  for (const auto& switches : fabric_.switches_) {
    for (const NodeId node : switches) {
      const auto links = fabric_.links_from(node);
      const auto num_cables =
          std::count_if(links.begin(), links.end(), [&](LinkId l) { return fabric_.tier(l) != LinkTier::kHostLeaf; });
      if (num_cables <= kMaxSwitchCables) continue;
      return InvalidArgument(fmt::format("{} has {} cables to other switches; expected at most {}",
                                         fabric_.NodeName(node), num_cables, kMaxSwitchCables));
    }
  }
  return OkStatus();
}

Result<Fabric> FabricBuilder::Build() && {
  FL_RETURN_IF_ERROR(error_);
  if (fabric_.num_hosts() == 0) return InvalidArgument("the fabric has no host; expected at least one");
  FL_RETURN_IF_ERROR(IndexNames());
  IndexLinks();
  FL_RETURN_IF_ERROR(CheckSwitchSizes());
  const bool is_lone_host = fabric_.num_hosts() == 1 && fabric_.switches(NodeKind::kLeaf).empty();
  if (!is_lone_host) {
    FL_RETURN_IF_ERROR(CheckNicsAreCabled());
    FL_RETURN_IF_ERROR(CheckConnected(fabric_));
  }
  HostGroups leaf_groups = FindLeafGroups(fabric_);
  fabric_.hosts_.leaf_groups = std::move(leaf_groups.group_of);
  fabric_.hosts_.num_leaf_groups = leaf_groups.num_groups;
  HostGroups pods = FindPods(fabric_);
  fabric_.hosts_.pods = std::move(pods.group_of);
  fabric_.hosts_.num_pods = pods.num_groups;
  return std::move(fabric_);
}

}  // namespace fairlead::topology
