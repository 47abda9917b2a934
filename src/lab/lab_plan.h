// What a lab consists of: which namespaces, which cables between them, which names, addresses and hash seeds.
//
// The plan follows from a fabric alone, so it is made and tested without privileges. All settings of the kernel
// (link_setup.h, lab_routes.h, link_shaping.h) is computed from it.
//
//     host namespace          leaf namespace            spine namespace
//     lo   10.h.h.n/32        p4 ---- cable ---- p0     p1, p2, …           one interface for each end of a cable
//     nic0p0 -- cable -- p0   10.128.0.2/31 … 3/31
//
// Addresses  a NIC has one address, on `lo`, whatever the number of its ports: 10.0.0.0 + 256 * host + NIC + 1, as a
//            bonded NIC has. Ends of cable c have 10.128.0.0 + 2c and + 2c + 1: a router answers with that of the
//            interface a packet came in by, so a probe learns the link. All of it lives in namespaces that are joined
//            to nothing outside of their lab, so labs can use the same addresses side by side.
// Ports      links inside hosts (NVLink, PCIe) are not part of a lab: only NICs and what is beyond.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "topology/fabric.h"

namespace fairlead::lab {

// A host or switch of a lab: one network namespace.
using LabNodeId = Id<struct LabNodeIdTag>;
// A cable between two nodes: one veth pair.
using CableId = Id<struct CableIdTag>;

// The order is the order of tiers.
enum class NodeRole : uint8_t {
  kHost,
  kLeaf,
  kSpine,
  kCore,
};

// Priorities of a link; 0 is served first.
inline constexpr uint32_t kNumLevels = 8;

std::string_view Name(NodeRole role);  // "host", "leaf", "spine", "core"

struct LabOptions {
  // Speed of a link in the lab over its speed in the fabric, in (0, 1]: 200 Gb/s -> 200 Mb/s. Higher: closer to what
  // the machine can forward, after which its processors are measured instead of the fabric.
  double scale = 1e-3;
  // The nodes' hash seeds are drawn from it.
  uint64_t hash_seed = 1;
  // Queues among which the connections of one level are hashed at each end of a cable: a power of two in [1, 64]; 0: as
  // many as the lab is small for, see AutomaticQueues(). More: fairer, and slower to bring up: the kernel's time for a
  // class grows with the number of classes on the machine.
  uint32_t queues_per_level = 0;
  // How long after a cable is cut or repaired the other switches change their routes; [0, 60000]. About what BGP with
  // fast failure detection takes.
  uint32_t convergence_ms = 200;

  friend bool operator==(const LabOptions&, const LabOptions&) = default;
};

struct LabNode {
  std::string name;  // that of the fabric: "h0", "leaf3"
  NodeRole role = NodeRole::kHost;
  uint32_t hash_seed = 1;       // for the kernel's multipath hash; never 0, which means "none" there
  std::vector<CableId> cables;  // by id; none twice
  std::vector<NicId> nics;      // of a host, in order

  friend bool operator==(const LabNode&, const LabNode&) = default;
};

struct CableEnd {
  LabNodeId node;
  std::string interface;  // "nic0p1" in a host, "p12" in a switch; at most 15 characters
  uint32_t address = 0;   // IPv4, host byte order

  friend bool operator==(const CableEnd&, const CableEnd&) = default;
};

struct LabCable {
  std::array<CableEnd, 2> ends;  // the lower tier first
  double bits_per_s = 0;         // of each direction, in the lab
  NicId nic;                     // that has port ends[0]; invalid between switches

  friend bool operator==(const LabCable&, const LabCable&) = default;
};

struct LabNic {
  LabNodeId host;
  uint32_t address = 0;         // IPv4, host byte order
  std::vector<CableId> cables;  // of its ports, in order

  friend bool operator==(const LabNic&, const LabNic&) = default;
};

struct LabPlan {
  LabOptions options;
  IdVector<LabNodeId, LabNode> nodes;  // hosts, then switches in the order of the fabric
  IdVector<CableId, LabCable> cables;  // in the order of the fabric's network links
  IdVector<NicId, LabNic> nics;        // the fabric's numbers

  friend bool operator==(const LabPlan&, const LabPlan&) = default;
};

// Health of each cable: 1 healthy, 0 cut.
using CableHealth = IdVector<CableId, double>;

// The number of namespaces above which a plan is refused: far beyond what one machine forwards for.
inline constexpr size_t kMaxNodes = 2048;

// 32, 16 or 8 queues where all ends of cables together then have at most 8192 classes, and else 1: fewer than 8 queues
// would treat connections less equally than none, because some would share one and others not, while connections with
// windows of one size get like shares of a common queue anyway.
uint32_t AutomaticQueues(size_t num_cables);

// Errors: kInvalidArgument: options out of range; a fabric without a network link; a cable that would be slower than
// 1 Mb/s or faster than 20 Gb/s in the lab. kResourceExhausted: too many nodes, hosts or NICs for the addresses.
Result<LabPlan> PlanLab(const topology::Fabric& fabric, const LabOptions& options);

// "10.0.3.1".
std::string FormatAddress(uint32_t address);
// Lines of /etc/hosts: localhost, each host by the address of its first NIC, each NIC as "h0-nic1".
std::string FormatHosts(const LabPlan& plan);
// Hardware address of a cable's end, made of its IPv4 address: "02:00:0a:80:00:05".
std::string FormatHardwareAddress(uint32_t address);
// "leaf0-spine3"; parallel cables end in "#1", "#2", … like the fabric's links.
std::string CableName(const LabPlan& plan, CableId cable);
// Accepts what CableName() prints, the fabric's "leaf0->spine3", and both with the ends exchanged. Invalid: no such
// cable.
CableId FindCable(const LabPlan& plan, std::string_view name);
// Invalid: no such node.
LabNodeId FindNode(const LabPlan& plan, std::string_view name);
// The namespace of the management network: the one behind those of the nodes. It is no node of the plan.
LabNodeId ManagementNetwork(const LabPlan& plan);
// 0 or 1: which end of the cable is at the node.
size_t EndAt(const LabPlan& plan, CableId cable, LabNodeId node);

}  // namespace fairlead::lab
