// A small case for both simulators: a leaf-spine fabric, messages over it, fluid routes of the same connections.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fluid/flow_table.h"
#include "packet/packet_simulation.h"
#include "packet/packet_workload.h"

namespace fairlead::experiments::packet_level {

// 32 hosts of one NIC under four leaves and eight spines: all links 100 Gb/s and 0.5 us, so that nothing is
// oversubscribed and every contention is one of paths or receivers.
inline constexpr uint32_t kNumLeaves = 4;
inline constexpr uint32_t kHostsPerLeaf = 8;
inline constexpr uint32_t kNumSpines = 8;
inline constexpr uint32_t kNumHosts = kNumLeaves * kHostsPerLeaf;
inline constexpr double kLinkBytesPerS = 12.5e9;
inline constexpr double kLinkDelayS = 0.5e-6;

struct ConnectionEnds {
  uint32_t source = 0;
  uint32_t destination = 0;
  std::optional<uint32_t> spine;  // nothing: packet by packet over all spines
};

struct TwinCase {
  std::string name;
  packet::PacketOptions options;  // but for the seed
  packet::PacketWorkload packets;
  std::vector<ConnectionEnds> ends;  // [connection]
  uint32_t num_dead_uplinks = 0;     // of leaf 0: to its first spines
  // The same in the fluid engine. Links that packets are sprayed over are one pipe for each leaf and direction.
  std::vector<double> fluid_capacities;             // [fluid link], bytes/s of payload
  std::vector<std::vector<fluid::LinkUse>> routes;  // [connection]
  std::vector<double> latency_s;                    // [connection] of a path that is empty, without its first link's
};

// Builds a case link by link and message by message.
class CaseBuilder {
 public:
  // Args: dead: spines to which leaf 0 has no cable, in either direction.
  CaseBuilder(std::string name, packet::Transport transport, uint32_t num_dead_uplinks = 0);

  // On the path over one spine.
  uint32_t AddConnection(uint32_t source, uint32_t destination, uint32_t spine, uint32_t level = 0);
  // Packet by packet over all spines that both leaves have a cable to.
  uint32_t AddSprayed(uint32_t source, uint32_t destination);
  uint32_t AddMessage(uint32_t connection, uint64_t bytes, std::vector<uint32_t> after = {}, double delay_s = 0);

  TwinCase Take() { return std::move(twin_); }

 private:
  uint32_t Leaf(uint32_t host) const { return host / kHostsPerLeaf; }
  void AddLink(bool in_switch);

  TwinCase twin_;
};

// When messages were ready and when they had arrived; [message], seconds.
struct TwinTimes {
  std::vector<double> ready_s;
  std::vector<double> finish_s;
};

packet::PacketResult SimulateTwin(const TwinCase& twin, uint64_t seed);
TwinTimes TimesOf(const packet::PacketResult& result);
TwinTimes RunPackets(const TwinCase& twin, uint64_t seed);
// Args: adds_latency: a message arrives as much later as the last bit of an empty path needs.
TwinTimes RunFluid(const TwinCase& twin, bool adds_latency);

}  // namespace fairlead::experiments::packet_level
