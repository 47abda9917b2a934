#include "sim/hosts/virtual_kernel.h"

#include <algorithm>
#include <utility>

namespace fairlead::sim::hosts {

using agent::RewriteRule;
using agent::SocketPair;
using Direction = RewriteRule::Direction;

namespace {

// net.ipv4.ip_local_port_range, as it is by default.
constexpr uint16_t kFirstPort = 32768;
constexpr uint16_t kNumPorts = 60999 - 32768 + 1;
constexpr SimDuration kTimeWait(60'000'000'000);

}  // namespace

bool VirtualKernel::IsFree(SimTime now, const SocketPair& ends) const {
  const auto waiting = waiting_.find(ends);
  if (waiting != waiting_.end() && now < waiting->second) return false;
  return std::ranges::none_of(sockets_, [&](const auto& entry) { return entry.second.ends == ends; });
}

uint16_t VirtualKernel::ChoosePort(SimTime now, const IpAddress& local, const IpAddress& remote, uint16_t remote_port,
                                   uint16_t wanted) {
  SocketPair ends = {local, remote, wanted, remote_port};
  const bool is_bindable = kFirstPort <= wanted && wanted < kFirstPort + kNumPorts;
  if (is_bindable && IsFree(now, ends)) return wanted;
  do {
    ends.local_port = static_cast<uint16_t>(kFirstPort + random_.Below(kNumPorts));
  } while (!IsFree(now, ends));
  return ends.local_port;
}

void VirtualKernel::Add(VirtualSocket socket) { sockets_[socket.inode] = std::move(socket); }

void VirtualKernel::Remove(SimTime now, uint64_t inode) {
  const auto socket = sockets_.find(inode);
  if (socket == sockets_.end()) return;
  if (socket->second.is_client) waiting_[socket->second.ends] = now + kTimeWait;
  sockets_.erase(socket);
}

void VirtualKernel::SetClass(uint64_t inode, uint8_t traffic_class) {
  const auto socket = sockets_.find(inode);
  if (socket != sockets_.end()) socket->second.traffic_class = traffic_class;
}

void VirtualKernel::SetBytesSent(uint64_t inode, double bytes) {
  const auto socket = sockets_.find(inode);
  if (socket != sockets_.end()) socket->second.bytes_sent = bytes;
}

const VirtualSocket* VirtualKernel::Find(uint64_t inode) const {
  const auto socket = sockets_.find(inode);
  return socket == sockets_.end() ? nullptr : &socket->second;
}

std::vector<agent::SeenSocket> VirtualKernel::List(SimTime now) const {
  std::vector<agent::SeenSocket> list;
  list.reserve(sockets_.size());
  for (const auto& [inode, socket] : sockets_) {
    const double steady = socket.bytes_per_second * (now - socket.opened_at).seconds().value();
    const double bytes = socket.bytes_sent + steady;
    list.push_back({.ends = socket.ends, .inode = inode, .bytes_acked = bytes, .bytes_received = 0});
  }
  return list;
}

void VirtualKernel::SetRule(const RewriteRule& rule, uint16_t port) {
  if (port == 0) {
    rules_.erase(rule);
  } else {
    rules_[rule] = port;
  }
}

uint16_t VirtualKernel::WirePortOf(const SocketPair& ends) const {
  const auto rule = rules_.find({.direction = Direction::kDeparture,
                                 .source = ends.local,
                                 .destination = ends.remote,
                                 .from_port = ends.local_port,
                                 .destination_port = ends.remote_port});
  return rule == rules_.end() ? ends.local_port : rule->second;
}

uint16_t VirtualKernel::ShownPortOf(const IpAddress& source, const IpAddress& destination, uint16_t wire_port,
                                    uint16_t destination_port) const {
  const auto rule = rules_.find({.direction = Direction::kArrival,
                                 .source = source,
                                 .destination = destination,
                                 .from_port = wire_port,
                                 .destination_port = destination_port});
  return rule == rules_.end() ? wire_port : rule->second;
}

void VirtualKernel::Reboot() {
  sockets_.clear();
  waiting_.clear();
  rules_.clear();
}

}  // namespace fairlead::sim::hosts
