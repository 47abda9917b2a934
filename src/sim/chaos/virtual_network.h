// The fabric of a simulated cluster as packets see it: switches that hash, and cables that fail.
//
// A cable that fails loses packets at once; `Converge()` later makes the switches route around it, as a routing
// protocol does, which moves connections of healthy cables, too. Hosts have one NIC; NIC and host have the same number.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/ip_address.h"
#include "base/random.h"
#include "controller/host_messages.h"
#include "topology/address_book.h"
#include "topology/fabric.h"
#include "topology/router.h"

namespace fairlead::sim::chaos {

// What the header of a packet shows to switches and hosts.
struct PacketHeader {
  IpAddress source;
  IpAddress destination;
  uint8_t protocol = 6;
  uint16_t source_port = 0;
  uint16_t destination_port = 0;
};

class VirtualNetwork {
 public:
  // Two leaves or more of up to three hosts, four spines. Args: num_hosts in [2, 64]; seed: of the switches' hashes.
  VirtualNetwork(uint32_t num_hosts, uint64_t seed);

  const topology::Fabric& fabric() const { return fabric_; }
  const topology::AddressBook& addresses() const { return addresses_; }
  uint32_t num_hosts() const { return num_hosts_; }
  IpAddress NicOf(uint32_t host) const { return IpAddress::FromIpv4(kFirstNic + host); }
  // Args: an address of NicOf().
  uint32_t HostOf(const IpAddress& nic) const { return nic.ipv4() - kFirstNic; }
  std::string HostName(uint32_t host) const { return fabric_.HostName(HostId(host)); }

  // Cables between switches, by one of their two links; the place of a cable is its number for faults.
  const std::vector<LinkId>& cables() const { return cables_; }
  // Both directions of a cable lose every packet, or carry them again. Takes effect on routes with Converge().
  void SetCable(LinkId cable, bool is_up);
  void Converge() { router_.SetHealth(carries_); }
  bool IsUp(LinkId link) const { return carries_[link] > 0; }

  // The links from NIC to NIC that the switches choose; empty where the two are cut apart.
  std::vector<LinkId> RouteOf(const PacketHeader& packet) const;
  // Whether a packet arrives: it has a route, and no cable of it has failed.
  bool Arrives(const PacketHeader& packet) const;
  // The result of a scan as a host sees it.
  controller::PortScanSeen Probe(const controller::PortScanWanted& scan) const;

 private:
  static constexpr uint32_t kFirstNic = 0x0a000001;
  static constexpr uint32_t kFirstInterface = 0x0a800000;

  uint32_t num_hosts_;
  uint64_t seed_;
  topology::Fabric fabric_;
  topology::AddressBook addresses_;
  topology::Router router_;
  topology::LinkHealth carries_;
  std::vector<LinkId> cables_;
};

}  // namespace fairlead::sim::chaos
