// The kernel of a simulated host, as far as connections need it: sockets, their classes, and rewriting of ports.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/host_agent_messages.h"
#include "base/random.h"
#include "base/sim_time.h"

namespace fairlead::sim::hosts {

struct VirtualSocket {
  uint64_t inode = 0;
  int32_t pid = 0;
  std::string job;
  agent::SocketPair ends;
  bool is_client = false;
  std::optional<uint8_t> traffic_class = std::nullopt;
  SimTime opened_at = SimTime();
  double bytes_per_second = 0;  // that it sends
  double bytes_sent = 0;        // besides
};

class VirtualKernel {
 public:
  explicit VirtualKernel(uint64_t seed) : random_(seed) {}

  uint64_t NewInode() { return ++num_inodes_; }
  // A source port for a connection to there: `wanted` where it is free and in the kernel's range, else any. Ports of
  // connections that were closed within a minute are not free (TIME_WAIT).
  uint16_t ChoosePort(SimTime now, const IpAddress& local, const IpAddress& remote, uint16_t remote_port,
                      uint16_t wanted);

  void Add(VirtualSocket socket);
  void Remove(SimTime now, uint64_t inode);
  void SetClass(uint64_t inode, uint8_t traffic_class);
  // What a socket has sent so far. Args: bytes: never falls.
  void SetBytesSent(uint64_t inode, double bytes);
  const std::map<uint64_t, VirtualSocket>& sockets() const { return sockets_; }
  const VirtualSocket* Find(uint64_t inode) const;
  std::vector<agent::SeenSocket> List(SimTime now) const;

  // Port 0 removes the rule.
  void SetRule(const agent::RewriteRule& rule, uint16_t port);
  const std::map<agent::RewriteRule, uint16_t>& rules() const { return rules_; }
  // The source port that packets of this socket leave with.
  uint16_t WirePortOf(const agent::SocketPair& ends) const;
  // The source port that an arriving packet shows to the sockets of this host.
  uint16_t ShownPortOf(const IpAddress& source, const IpAddress& destination, uint16_t wire_port,
                       uint16_t destination_port) const;

  // Nothing survives.
  void Reboot();

 private:
  bool IsFree(SimTime now, const agent::SocketPair& ends) const;

  Random random_;
  uint64_t num_inodes_ = 0;
  std::map<uint64_t, VirtualSocket> sockets_;
  std::map<agent::SocketPair, SimTime> waiting_;  // closed connections, until when
  std::map<agent::RewriteRule, uint16_t> rules_;
};

}  // namespace fairlead::sim::hosts
