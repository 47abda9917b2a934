// The fabric: one directed graph of GPUs, switches inside hosts, NICs and network switches, with a capacity per link.
//
// Everything is an index into flat arrays; the graph never changes after it is built. Link failures are not here but in
// LinkHealth, so that one fabric serves many simulations.
//
//   GPU -- NVSwitch -- GPU                      inside a host (tier kNvlink)
//   GPU -- PCIe switch -- NIC                   (kPcie); PCIe switch -- CPU -- CPU -- PCIe switch
//   NIC port -- leaf                            (kHostLeaf); a NIC with two ports has links to two leaves
//   leaf -- spine -- core                       (kLeafSpine, kSpineCore)
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/units.h"

namespace fairlead::topology {

// Vertices. The order is the order of tiers: paths between hosts climb it and come down again.
enum class NodeKind : uint8_t {
  kGpu,
  kNvSwitch,    // NVSwitch, or the NVLink mesh of a host seen as one switch
  kPcieSwitch,  // holds GPUs and NICs
  kCpu,         // root complex of a socket
  kNic,
  kLeaf,   // top of rack (ASW)
  kSpine,  // aggregation (PSW)
  kCore,   // core (DSW)
};

// Where a link is. Links of the last three tiers are network links.
enum class LinkTier : uint8_t { kNvlink, kPcie, kHostLeaf, kLeafSpine, kSpineCore };
inline constexpr size_t kNumLinkTiers = 5;

std::string_view Name(LinkTier tier);  // "nvlink", "pcie", "host-leaf", "leaf-spine", "spine-core"
std::string_view Name(NodeKind kind);  // "gpu", "nvswitch", "pcie", "cpu", "nic", "leaf", "spine", "core"
constexpr bool IsNetwork(LinkTier tier) { return tier >= LinkTier::kHostLeaf; }
constexpr bool IsNetworkSwitch(NodeKind kind) { return kind >= NodeKind::kLeaf; }

class FabricBuilder;

class Fabric {
 public:
  size_t num_nodes() const { return nodes_.kinds.size(); }
  size_t num_links() const { return links_.capacities.size(); }
  size_t num_hosts() const { return hosts_.first_gpu.size() - 1; }
  size_t num_gpus() const { return gpus_.nodes.size(); }
  size_t num_nics() const { return nics_.nodes.size(); }

  NodeKind kind(NodeId node) const { return nodes_.kinds[node]; }
  // "h12/gpu3", "h12/nic0", "leaf4", "spine2", "core0", or the name given by an importer.
  std::string NodeName(NodeId node) const;
  // Accepts what NodeName() prints; invalid when there is none. Cost: O(named switches).
  NodeId FindNode(std::string_view name) const;
  // The network switches of one kind (kLeaf, kSpine, kCore) in NodeId order: "leaf4" is switches(kLeaf)[4].
  std::span<const NodeId> switches(NodeKind kind) const {
    return switches_[static_cast<size_t>(kind) - static_cast<size_t>(NodeKind::kLeaf)];
  }

  NodeId source(LinkId link) const { return links_.sources[link]; }
  NodeId destination(LinkId link) const { return links_.destinations[link]; }
  BytesPerSecond capacity(LinkId link) const { return links_.capacities[link]; }
  LinkTier tier(LinkId link) const { return links_.tiers[link]; }
  const IdVector<LinkId, BytesPerSecond>& link_capacities() const { return links_.capacities; }
  const IdVector<LinkId, LinkTier>& link_tiers() const { return links_.tiers; }
  // The same cable in the other direction.
  LinkId reverse(LinkId link) const { return LinkId(link.value() ^ 1u); }
  // "leaf4->spine2"; links that have parallel ones end in "#1", "#2", …, in LinkId order.
  std::string LinkName(LinkId link) const;
  // Accepts what LinkName() prints, and takes the first of parallel links when the number is left out; invalid when
  // there is none. Cost: that of FindNode.
  LinkId FindLink(std::string_view name) const;
  // Links that leave a node, in LinkId order.
  std::span<const LinkId> links_from(NodeId node) const {
    return {links_.from.data() + links_.from_first[node.index()],
            links_.from.data() + links_.from_first[node.index() + 1]};
  }
  // A copy of this fabric in which the given links have other capacities, each positive and finite.
  Fabric WithCapacities(std::span<const std::pair<LinkId, BytesPerSecond>> capacities) &&;

  // "h12", or the name given by an importer.
  std::string HostName(HostId host) const;
  // Accepts what HostName() prints; invalid when there is none. Cost: O(log hosts).
  HostId FindHost(std::string_view name) const;
  // GPUs of a host are consecutive: [first_gpu(h), first_gpu(h) + num_gpus_of(h)).
  GpuId first_gpu(HostId host) const { return hosts_.first_gpu[host.index()]; }
  // Args: index: < num_gpus_of(host).
  GpuId gpu(HostId host, uint32_t index) const { return GpuId(first_gpu(host).value() + index); }
  uint32_t num_gpus_of(HostId host) const {
    return hosts_.first_gpu[host.index() + 1].value() - hosts_.first_gpu[host.index()].value();
  }
  // NICs of a host are consecutive too.
  NicId first_nic(HostId host) const { return hosts_.first_nic[host.index()]; }
  NicId nic(HostId host, uint32_t index) const { return NicId(first_nic(host).value() + index); }
  uint32_t num_nics_of(HostId host) const {
    return hosts_.first_nic[host.index() + 1].value() - hosts_.first_nic[host.index()].value();
  }
  HostId host_of(GpuId gpu) const { return gpus_.hosts[gpu]; }
  HostId host_of(NicId nic) const { return nics_.hosts[nic]; }
  HostId host_of(NodeId node) const { return nodes_.hosts[node]; }  // invalid for network switches
  NodeId node_of(GpuId gpu) const { return gpus_.nodes[gpu]; }
  NodeId node_of(NicId nic) const { return nics_.nodes[nic]; }
  // The NIC that traffic of this GPU leaves and enters by: the nearest one.
  NicId nic_of(GpuId gpu) const { return gpus_.nics[gpu]; }

  // Nodes of a host are consecutive and begin with its GPUs; this is how many there are.
  uint32_t num_nodes_of(HostId host) const { return hosts_.num_nodes[host]; }

  // Locality of a host, for placement: hosts with equal leaf_group are cabled to the same set of leaves; hosts with
  // equal pod reach each other without a core switch. Groups and pods are dense numbers from 0, in order of their first
  // host.
  uint32_t leaf_group(HostId host) const { return hosts_.leaf_groups[host]; }
  uint32_t num_leaf_groups() const { return hosts_.num_leaf_groups; }
  uint32_t num_pods() const { return hosts_.num_pods; }
  uint32_t pod(HostId host) const { return hosts_.pods[host]; }

  // Whether NICs of one host reach each other's networks: false of rail-only fabrics, where a message that is for another
  // rail changes it inside its host.
  bool joins_rails() const { return joins_rails_; }

  // Peak dense half-precision rate of one GPU.
  FlopPerSecond gpu_peak() const { return gpus_.peak; }
  const std::string& gpu_model() const { return gpus_.model; }

 private:
  friend class FabricBuilder;

  struct Nodes {
    IdVector<NodeId, NodeKind> kinds;
    IdVector<NodeId, uint32_t> numbers;                  // index among its kind (GPUs, NICs, CPUs: within their host)
    IdVector<NodeId, HostId> hosts;                      // invalid for network switches
    std::vector<std::pair<NodeId, std::string>> labels;  // importer names, sorted by node
  };
  struct Links {
    IdVector<LinkId, NodeId> sources;
    IdVector<LinkId, NodeId> destinations;
    IdVector<LinkId, BytesPerSecond> capacities;
    IdVector<LinkId, LinkTier> tiers;
    std::vector<uint32_t> from_first;  // [node] .. [node + 1] into `from`
    std::vector<LinkId> from;
  };
  struct Gpus {
    IdVector<GpuId, HostId> hosts;
    IdVector<GpuId, NodeId> nodes;
    IdVector<GpuId, NicId> nics;
    FlopPerSecond peak;
    std::string model;
  };
  struct Nics {
    IdVector<NicId, HostId> hosts;
    IdVector<NicId, NodeId> nodes;
  };
  struct Hosts {
    std::vector<GpuId> first_gpu = {GpuId(0u)};  // num_hosts + 1 entries
    std::vector<NicId> first_nic = {NicId(0u)};  // num_hosts + 1 entries
    IdVector<HostId, uint32_t> num_nodes;
    IdVector<HostId, uint32_t> leaf_groups;
    IdVector<HostId, uint32_t> pods;
    uint32_t num_leaf_groups = 0;
    uint32_t num_pods = 0;
    std::vector<std::string> labels;  // importer names, one per host; empty when no host has one
    std::vector<HostId> by_label;     // sorted by label; empty like `labels`
  };

  Nodes nodes_;
  Links links_;
  Gpus gpus_;
  Nics nics_;
  Hosts hosts_;
  std::array<std::vector<NodeId>, 3> switches_;  // leaves, spines, cores
  bool joins_rails_ = true;
};

}  // namespace fairlead::topology
