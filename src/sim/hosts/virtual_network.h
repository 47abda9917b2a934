// The fabric of a simulated cluster as packets see it: switches that hash, and cables that fail.
//
// A cable that fails loses packets at once; `Converge()` later makes the switches route around it, as a routing
// protocol does, which moves connections of healthy cables, too. A bonded NIC has one address; the
// hash chooses its port, too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/ip_address.h"
#include "base/random.h"
#include "controller/host_messages.h"
#include "model/path.h"
#include "topology/address_book.h"
#include "topology/fabric.h"
#include "topology/router.h"

namespace fairlead::sim::hosts {

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
  // Args: fabric: must outlive this; seed: of the switches' hashes.
  VirtualNetwork(const topology::Fabric& fabric, uint64_t seed);

  const topology::Fabric& fabric() const { return fabric_; }
  const topology::AddressBook& addresses() const { return addresses_; }
  IpAddress AddressOf(NicId nic) const { return IpAddress::FromIpv4(kFirstNic + nic.value()); }
  // Args: an address of AddressOf().
  NicId NicOf(const IpAddress& address) const { return NicId(address.ipv4() - kFirstNic); }
  std::string HostName(HostId host) const { return fabric_.HostName(host); }
  // That of a NIC with this address.
  std::string HostName(const IpAddress& address) const { return HostName(fabric_.host_of(NicOf(address))); }
  // The NICs of a host that GPUs use, ascending.
  std::vector<NicId> NicsOf(HostId host) const;

  // One of the two links of each cable between leaves and spines; the place of a cable is its number for faults.
  const std::vector<LinkId>& cables() const { return cables_; }
  // Both directions of a cable lose every packet, or carry them again. Takes effect on routes with Converge().
  void SetCable(LinkId cable, bool is_up);
  void SetLink(LinkId link, bool is_up) { carries_[link] = is_up ? 1 : 0; }
  void Converge() { router_.SetHealth(carries_); }
  bool IsUp(LinkId link) const { return carries_[link] > 0; }

  // The links from NIC to NIC that the switches choose; empty where the two are cut apart.
  std::vector<LinkId> RouteOf(const PacketHeader& packet) const;
  // The same between two GPUs, with the links of their hosts.
  model::Path RouteBetween(GpuId source, GpuId destination, const PacketHeader& packet) const;
  // Whether a packet arrives: it has a route, and no cable of it has failed.
  bool Arrives(const PacketHeader& packet) const;
  // What its route carries, bytes/s; 0: it does not arrive.
  double RateOf(const PacketHeader& packet) const;
  // The result of a scan as a host sees it.
  controller::PortScanSeen Probe(const controller::PortScanWanted& scan) const;

 private:
  static constexpr uint32_t kFirstNic = 0x0a000001;
  static constexpr uint32_t kFirstInterface = 0x0a800000;

  const topology::Fabric& fabric_;
  uint64_t seed_;
  topology::AddressBook addresses_;
  topology::Router router_;
  topology::LinkHealth carries_;
  IdVector<NicId, GpuId> gpu_beside_;  // invalid: no GPU uses the NIC
  std::vector<LinkId> cables_;
};

}  // namespace fairlead::sim::hosts
