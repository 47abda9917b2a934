// Carries out the controller's orders to probe: over which routers do connections from these ports go?
//
// Probes of a search must not reach a training process: it would see connections come and go. How far away the
// destination is, is found out first with a port at which no server is expected, and remembered; probes then end one
// hop before it. The link from the last router to the destination is the only one there, so nothing is missed. A hop
// that says nothing is asked again after a few times the time that answers take: routers limit how many they give at
// once.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <utility>

#include "base/ip_address.h"
#include "base/status.h"
#include "controller/host_messages.h"

namespace fairlead::service {

class HostProber {
 public:
  // Blocks. One probe for each port; hops are the routers before the destination. Lost: the last of these routers has not
  // answered. A port that a connection has needs CAP_NET_RAW; without it: no hops, nothing sent.
  // Errors: kUnavailable: this host has no way there, or no router answers.
  Result<controller::PortScanSeen> Probe(const controller::PortScanWanted& scan);

 private:
  using Clock = std::chrono::steady_clock;
  struct Distance {
    uint32_t num_routers = 0;
    Seconds rtt;  // the longest to a router there
    Clock::time_point good_until;
  };

  Result<Distance> FindDistance(const IpAddress& source, const IpAddress& destination);

  std::map<std::pair<IpAddress, IpAddress>, Distance> distances_;
};

}  // namespace fairlead::service
