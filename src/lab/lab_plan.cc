#include "lab/lab_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "base/random.h"

namespace fairlead::lab {

namespace {

using topology::Fabric;
using topology::NodeKind;

constexpr uint32_t kNicAddresses = 0x0a000000;    // 10.0.0.0, up to 10.127.255.255
constexpr uint32_t kCableAddresses = 0x0a800000;  // 10.128.0.0, up to 10.255.255.255
constexpr uint32_t kMaxNicsPerHost = 254;
constexpr double kMinBitsPerSecond = 1e6;
constexpr double kMaxBitsPerSecond = 20e9;

NodeRole RoleOf(NodeKind kind) {
  switch (kind) {
    case NodeKind::kLeaf:
      return NodeRole::kLeaf;
    case NodeKind::kSpine:
      return NodeRole::kSpine;
    case NodeKind::kCore:
      return NodeRole::kCore;
    default:
      return NodeRole::kHost;
  }
}

Status Validate(const LabOptions& options) {
  if (!(options.scale > 0 && options.scale <= 1)) {
    return InvalidArgument(fmt::format("scale: expected a number in (0, 1], found {}", options.scale));
  }
  if ((options.queues_per_level != 0 && !std::has_single_bit(options.queues_per_level)) ||
      options.queues_per_level > 64) {
    return InvalidArgument(
        fmt::format("queues per level: expected 0, 1, 2, 4, … or 64, found {}", options.queues_per_level));
  }
  if (options.convergence_ms > 60'000) {
    return InvalidArgument(fmt::format("convergence: expected at most 60000 ms, found {}", options.convergence_ms));
  }
  return OkStatus();
}

// Builds one plan from one fabric.
class Planner {
 public:
  Planner(const Fabric& fabric, const LabOptions& options) : fabric_(fabric), node_of_(fabric.num_nodes()) {
    plan_.options = options;
  }

  Result<LabPlan> Plan() {
    AddNodes();
    if (plan_.nodes.size() > kMaxNodes) {
      return Status(StatusCode::kResourceExhausted,
                    fmt::format("the fabric has {} hosts and switches; a lab holds at most {}. Use a smaller fabric",
                                plan_.nodes.size(), kMaxNodes));
    }
    FL_RETURN_IF_ERROR(AddNics());
    FL_RETURN_IF_ERROR(AddCables());
    uint32_t& queues = plan_.options.queues_per_level;
    if (queues == 0) queues = AutomaticQueues(plan_.cables.size());
    return std::move(plan_);
  }

 private:
  void AddNode(std::string name, NodeRole role) {
    // Seeds differ as those of real switches do: equal ones would make all tiers choose alike.
    const uint64_t bits = CombineHash(plan_.options.hash_seed, plan_.nodes.size());
    plan_.nodes.push_back({.name = std::move(name),
                           .role = role,
                           .hash_seed = static_cast<uint32_t>(bits >> 32) | 1,
                           .cables = {},
                           .nics = {}});
  }

  void AddNodes() {
    for (HostId host(0u); host.index() < fabric_.num_hosts(); host = HostId(host.index() + 1)) {
      AddNode(fabric_.HostName(host), NodeRole::kHost);
    }
    for (const NodeKind kind : {NodeKind::kLeaf, NodeKind::kSpine, NodeKind::kCore}) {
      for (const NodeId node : fabric_.switches(kind)) {
        node_of_[node] = LabNodeId(plan_.nodes.size());
        AddNode(fabric_.NodeName(node), RoleOf(kind));
      }
    }
  }

  Status AddNics() {
    for (NicId nic(0u); nic.index() < fabric_.num_nics(); nic = NicId(nic.index() + 1)) {
      const HostId host = fabric_.host_of(nic);
      LabNode& node = plan_.nodes[LabNodeId(host.value())];
      if (node.nics.size() == kMaxNicsPerHost) {
        return Status(StatusCode::kResourceExhausted,
                      fmt::format("host {} has more than {} NICs, the most that a lab has addresses for", node.name,
                                  kMaxNicsPerHost));
      }
      const uint32_t address = kNicAddresses + 256 * host.value() + static_cast<uint32_t>(node.nics.size()) + 1;
      node_of_[fabric_.node_of(nic)] = LabNodeId(host.value());
      node.nics.push_back(nic);
      plan_.nics.push_back({.host = LabNodeId(host.value()), .address = address, .cables = {}});
      nic_of_[fabric_.node_of(nic)] = nic;
    }
    return OkStatus();
  }

  Status AddCables() {
    // Links 2k and 2k+1 are the two directions of a cable.
    for (LinkId link(0u); link.index() < fabric_.num_links(); link = LinkId(link.index() + 2)) {
      if (!IsNetwork(fabric_.tier(link))) continue;
      NodeId low = fabric_.source(link);
      NodeId high = fabric_.destination(link);
      if (fabric_.kind(low) > fabric_.kind(high)) std::swap(low, high);
      FL_RETURN_IF_ERROR(AddCable(link, low, high));
    }
    if (plan_.cables.empty()) return InvalidArgument("the fabric has no network link, so there is nothing to emulate");
    return OkStatus();
  }

  Status AddCable(LinkId link, NodeId low, NodeId high) {
    const double bits_per_s = fabric_.capacity(link).value() * 8 * plan_.options.scale;
    if (bits_per_s < kMinBitsPerSecond || bits_per_s > kMaxBitsPerSecond) {
      return InvalidArgument(
          fmt::format("link {} would have {:.4g} Mb/s at scale {:g}; expected 1 Mb/s to 20 Gb/s. Choose another scale",
                      fabric_.LinkName(link), bits_per_s / 1e6, plan_.options.scale));
    }
    const CableId id(plan_.cables.size());
    LabCable cable;
    cable.bits_per_s = bits_per_s;
    if (const auto found = nic_of_.find(low); found != nic_of_.end()) cable.nic = found->second;
    cable.ends[0] = AddEnd(id, node_of_[low], cable.nic, kCableAddresses + 2 * id.value());
    cable.ends[1] = AddEnd(id, node_of_[high], NicId(), kCableAddresses + 2 * id.value() + 1);
    plan_.cables.push_back(std::move(cable));
    return OkStatus();
  }

  CableEnd AddEnd(CableId cable, LabNodeId node_id, NicId nic_id, uint32_t address) {
    LabNode& node = plan_.nodes[node_id];
    std::string interface = fmt::format("p{}", node.cables.size());
    if (nic_id.valid()) {
      LabNic& nic = plan_.nics[nic_id];
      interface = fmt::format("nic{}p{}", nic_id.value() - node.nics.front().value(), nic.cables.size());
      nic.cables.push_back(cable);
    }
    node.cables.push_back(cable);
    return {.node = node_id, .interface = std::move(interface), .address = address};
  }

  const Fabric& fabric_;
  IdVector<NodeId, LabNodeId> node_of_;  // network switches and NICs; others invalid
  std::map<NodeId, NicId> nic_of_;
  LabPlan plan_;
};

// "leaf0", "spine3", "#1" of "leaf0-spine3#1"; the arrow of the fabric's names will do as well.
struct CableNameParts {
  std::string_view first;
  std::string_view second;
  std::string_view number;
};

// Names may contain hyphens, so every one of them can be the one between the ends.
std::vector<CableNameParts> SplitCableName(std::string_view name) {
  std::string_view number;
  if (const size_t hash = name.rfind('#'); hash != name.npos) {
    number = name.substr(hash);
    name = name.substr(0, hash);
  }
  std::vector<CableNameParts> splits;
  for (size_t at = name.find('-'); at != name.npos; at = name.find('-', at + 1)) {
    const size_t length = name.substr(at, 2) == "->" ? 2 : 1;
    splits.push_back({name.substr(0, at), name.substr(at + length), number});
  }
  return splits;
}

// Cables between two nodes, by id.
std::vector<CableId> CablesBetween(const LabPlan& plan, LabNodeId a, LabNodeId b) {
  std::vector<CableId> between;
  for (const CableId cable : plan.nodes[a].cables) {
    if (plan.cables[cable].ends[1 - EndAt(plan, cable, a)].node == b) between.push_back(cable);
  }
  return between;
}

// "h0/nic2" -> "h0": a cable of a NIC may be named by the NIC.
std::string_view WithoutNic(std::string_view name) { return name.substr(0, name.rfind("/nic")); }

bool EndsWithName(const LabPlan& plan, CableId cable, std::string_view name) {
  if (name.find("/nic") == name.npos) return true;
  const NicId nic = plan.cables[cable].nic;
  if (!nic.valid()) return false;
  const LabNode& host = plan.nodes[plan.nics[nic].host];
  return name == fmt::format("{}/nic{}", host.name, nic.value() - host.nics.front().value());
}

}  // namespace

std::string_view Name(NodeRole role) {
  switch (role) {
    case NodeRole::kHost:
      return "host";
    case NodeRole::kLeaf:
      return "leaf";
    case NodeRole::kSpine:
      return "spine";
    case NodeRole::kCore:
      return "core";
  }
  return "";
}

uint32_t AutomaticQueues(size_t num_cables) {
  constexpr size_t kMaxClasses = 8192;
  for (const uint32_t queues : {32u, 16u, 8u}) {
    if (num_cables * 2 * kNumLevels * queues <= kMaxClasses) return queues;
  }
  return 1;
}

Result<LabPlan> PlanLab(const topology::Fabric& fabric, const LabOptions& options) {
  FL_RETURN_IF_ERROR(Validate(options));
  return Planner(fabric, options).Plan();
}

std::string FormatAddress(uint32_t address) {
  return fmt::format("{}.{}.{}.{}", address >> 24, address >> 16 & 255, address >> 8 & 255, address & 255);
}

std::string FormatHosts(const LabPlan& plan) {
  std::string text = "127.0.0.1 localhost\n";
  for (const LabNode& node : plan.nodes) {
    for (size_t i = 0; i < node.nics.size(); ++i) {
      text += fmt::format("{} {}{}-nic{}\n", FormatAddress(plan.nics[node.nics[i]].address),
                          i == 0 ? node.name + " " : "", node.name, i);
    }
  }
  return text;
}

std::string FormatHardwareAddress(uint32_t address) {
  // The second-lowest bit of the first byte marks addresses that no maker gave out.
  return fmt::format("02:00:{:02x}:{:02x}:{:02x}:{:02x}", address >> 24, address >> 16 & 255, address >> 8 & 255,
                     address & 255);
}

std::string CableName(const LabPlan& plan, CableId cable) {
  const auto& ends = plan.cables[cable].ends;
  std::string low = plan.nodes[ends[0].node].name;
  std::vector<CableId> parallel = CablesBetween(plan, ends[0].node, ends[1].node);
  if (const NicId nic = plan.cables[cable].nic; nic.valid()) {
    low += fmt::format("/nic{}", nic.value() - plan.nodes[ends[0].node].nics.front().value());
    std::erase_if(parallel, [&](CableId other) { return plan.cables[other].nic != nic; });
  }
  const std::string name = fmt::format("{}-{}", low, plan.nodes[ends[1].node].name);
  if (parallel.size() == 1) return name;
  const auto at = std::find(parallel.begin(), parallel.end(), cable) - parallel.begin();
  return fmt::format("{}#{}", name, at + 1);
}

CableId FindCable(const LabPlan& plan, std::string_view name) {
  for (const CableNameParts& parts : SplitCableName(name)) {
    const LabNodeId first = FindNode(plan, WithoutNic(parts.first));
    const LabNodeId second = FindNode(plan, WithoutNic(parts.second));
    if (!first.valid() || !second.valid()) continue;
    std::vector<CableId> cables = CablesBetween(plan, first, second);
    std::erase_if(cables, [&](CableId cable) {
      return !EndsWithName(plan, cable, parts.first) || !EndsWithName(plan, cable, parts.second);
    });
    for (size_t i = 0; i < cables.size(); ++i) {
      if (parts.number.empty() || parts.number == fmt::format("#{}", i + 1)) return cables[i];
    }
  }
  return CableId();
}

LabNodeId FindNode(const LabPlan& plan, std::string_view name) {
  for (LabNodeId node(0u); node.index() < plan.nodes.size(); node = LabNodeId(node.index() + 1)) {
    if (plan.nodes[node].name == name) return node;
  }
  return LabNodeId();
}

LabNodeId ManagementNetwork(const LabPlan& plan) { return LabNodeId(plan.nodes.size()); }

size_t EndAt(const LabPlan& plan, CableId cable, LabNodeId node) {
  const auto& ends = plan.cables[cable].ends;
  FL_CHECK(ends[0].node == node || ends[1].node == node);
  return ends[0].node == node ? 0 : 1;
}

}  // namespace fairlead::lab
