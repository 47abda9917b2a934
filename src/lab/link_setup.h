// The commands that make a lab's interfaces and give its namespaces their settings, as text for iproute2.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lab/lab_plan.h"

namespace fairlead::lab {

// A file that represents the namespace of a node: "/proc/4711/fd/9".
using NamespacePath = std::function<std::string(LabNodeId)>;

// The lines for `ip -batch`, run in any namespace, that make all veth pairs with each end in the namespace where it
// belongs: none is ever seen outside of the lab.
std::string CableCommands(const LabPlan& plan, const NamespacePath& path);

// The lines for `ip -batch` in the node's namespace: addresses, neighbours, interfaces up. Neighbours are permanent, so
// that no packet waits for ARP and large labs do not fill the kernel's common table of neighbours.
std::string AddressCommands(const LabPlan& plan, LabNodeId id);

// Routing table of a host's NIC number `index`: packets leave by the NIC with the sender's bound address.
constexpr uint32_t RoutingTable(size_t index) { return static_cast<uint32_t>(100 + index); }

// Whether one of the host's NICs has several ports. False for switches.
bool HasBondedNic(const LabPlan& plan, LabNodeId node);

// The script for `nft -f` in the namespace of a host with a bonded NIC: every packet of TCP leaves by the port that the
// hash of its own header selects, as a bond sends (xmit_hash_policy layer3+4). Without the script the kernel uses the
// hash known when the connection began, and since Linux 6.16 a random one where the source port was still open then.
std::string BondCommands();

// One kernel setting of a namespace.
struct KernelSetting {
  std::string name;  // below /proc/sys: "net/ipv4/ip_forward"
  std::string value;
  // Kernels may lack it (hash seeds: before 6.11); the lab then works, but differs as docs/internals/modules/lab.md says.
  bool is_optional = false;

  friend bool operator==(const KernelSetting&, const KernelSetting&) = default;
};

inline constexpr const char* kHashSeedSetting = "net/ipv4/fib_multipath_hash_seed";

// What has to be set before there are interfaces, in this order.
std::vector<KernelSetting> SettingsOf(const LabNode& node);

}  // namespace fairlead::lab
