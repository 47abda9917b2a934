#include "lab/link_setup.h"

#include <fmt/format.h>

#include <algorithm>

namespace fairlead::lab {

namespace {

// Frames of RoCE carry 4096 bytes of payload and up to 104 of headers.
constexpr uint32_t kMtu = 4200;
// TCP hands over up to 64 KiB at once. On a slow link that is milliseconds for which a more important packet waits, so
// four frames are the most.
constexpr uint32_t kPacketBytesMax = 16 * 1024;

// After all rules that lead anywhere. That a rule looks at ports makes the look-up of a packet on its way see them.
constexpr std::string_view kPortRule = "rule add pref 40001 ipproto 6 sport 1-65534 lookup main\n";

// A changed mark has the route looked up again, after agents have rewritten ports (priority -150).
constexpr std::string_view kBondTable = R"(
add table inet fairlead_lab
add chain inet fairlead_lab leave { type route hook output priority -140; policy accept; }
add chain inet fairlead_lab unmark { type filter hook output priority -139; policy accept; }
add rule inet fairlead_lab leave meta l4proto tcp meta mark set meta mark | 0x20000000
add rule inet fairlead_lab unmark meta mark & 0x20000000 != 0 meta mark set meta mark & 0xdfffffff
)";

std::string EndCommand(const CableEnd& end, const NamespacePath& path) {
  return fmt::format("netns {} address {} mtu {} gso_max_size {}", path(end.node), FormatHardwareAddress(end.address),
                     kMtu, kPacketBytesMax);
}

}  // namespace

std::string CableCommands(const LabPlan& plan, const NamespacePath& path) {
  std::string text;
  for (const LabCable& cable : plan.cables) {
    text += fmt::format("link add name {} {} type veth peer name {} {}\n", cable.ends[0].interface,
                        EndCommand(cable.ends[0], path), cable.ends[1].interface, EndCommand(cable.ends[1], path));
  }
  return text;
}

bool HasBondedNic(const LabPlan& plan, LabNodeId node) {
  const auto& nics = plan.nodes[node].nics;
  return std::any_of(nics.begin(), nics.end(), [&](NicId nic) { return plan.nics[nic].cables.size() > 1; });
}

std::string BondCommands() { return std::string(kBondTable); }

std::string AddressCommands(const LabPlan& plan, LabNodeId id) {
  const LabNode& node = plan.nodes[id];
  std::string text = "link set lo up\n";
  if (HasBondedNic(plan, id)) text += kPortRule;
  for (size_t i = 0; i < node.nics.size(); ++i) {
    const std::string address = FormatAddress(plan.nics[node.nics[i]].address);
    text += fmt::format("addr add {}/32 dev lo\n", address);
    text += fmt::format("rule add from {} lookup {}\n", address, RoutingTable(i));
  }
  for (const CableId cable : node.cables) {
    const size_t at = EndAt(plan, cable, id);
    const CableEnd& end = plan.cables[cable].ends[at];
    const CableEnd& peer = plan.cables[cable].ends[1 - at];
    text += fmt::format("addr add {}/31 dev {}\n", FormatAddress(end.address), end.interface);
    text += fmt::format("link set {} up\n", end.interface);
    text += fmt::format("neigh replace {} lladdr {} dev {} nud permanent\n", FormatAddress(peer.address),
                        FormatHardwareAddress(peer.address), end.interface);
  }
  return text;
}

std::vector<KernelSetting> SettingsOf(const LabNode& node) {
  // Source and destination address, protocol, ports: the path follows from the five-tuple, whatever sends it. Of what a
  // host sends itself policy 1 takes the same; under 3 `ip route get` would hash otherwise than its sockets.
  std::vector<KernelSetting> settings = {
      {"net/ipv4/fib_multipath_hash_policy", node.role == NodeRole::kHost ? "1" : "3"},
      {"net/ipv4/fib_multipath_hash_fields", "0x0037"},
      {kHashSeedSetting, fmt::format("{}", node.hash_seed), true}};
  // A reply may come in by another cable than the one its destination is reached by.
  for (const char* interfaces : {"all", "default"}) {
    settings.push_back({fmt::format("net/ipv4/conf/{}/rp_filter", interfaces), "0"});
  }
  settings.push_back({"net/ipv6/conf/default/disable_ipv6", "1", true});
  settings.push_back({"net/ipv6/conf/all/disable_ipv6", "1", true});
  if (node.role != NodeRole::kHost) {
    settings.push_back({"net/ipv4/ip_forward", "1"});
    // A probe whose time to live ends is answered by the interface it arrived on, however many of them come at the same
    // time.
    settings.push_back({"net/ipv4/icmp_errors_use_inbound_ifaddr", "1"});
    settings.push_back({"net/ipv4/icmp_ratelimit", "0", true});
    // Since Linux 6.11 of each namespace; before, of the machine, and out of reach here.
    settings.push_back({"net/ipv4/icmp_msgs_per_sec", "1000000", true});
    settings.push_back({"net/ipv4/icmp_msgs_burst", "1000000", true});
    return settings;
  }
  // Reno fills its window and stays there when nothing is lost; others would measure the lab's queues and hold back.
  settings.push_back({"net/ipv4/tcp_congestion_control", "reno"});
  settings.push_back({"net/ipv4/tcp_slow_start_after_idle", "0"});
  settings.push_back({"net/ipv4/tcp_no_metrics_save", "1", true});
  // Acknowledgements travel on the level of what they acknowledge.
  settings.push_back({"net/ipv4/tcp_reflect_tos", "1", true});
  settings.push_back({"net/ipv4/tcp_wmem", "4096 262144 524288"});
  // Source ports that steer are those that connections get, as far as sockets bind them (traffic/source_ports.h).
  settings.push_back({"net/ipv4/ip_local_port_range", "49152 60999"});
  return settings;
}

}  // namespace fairlead::lab
