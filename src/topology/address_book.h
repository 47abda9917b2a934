// Which NIC and which cable an IP address belongs to: translates the addresses of hosts and routers into those of a
// fabric.
//
// Hosts speak of IP addresses; plans speak of NICs and links. A probe that runs out of hops is answered from the
// address of the interface that it came in by, so the address of a router names the link that leads there.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/ip_address.h"
#include "base/status.h"
#include "topology/fabric.h"

namespace fairlead::topology {

class AddressBook {
 public:
  // A NIC may have several addresses; its first one is AddressOf. Repeating a known entry is fine. Args: of the fabric
  // that the book is for. Errors: kInvalidArgument: an unset address; kAlreadyExists: it has another meaning already.
  Status AddNic(const IpAddress& address, NicId nic);
  // `link` ends at the interface that has this address.
  Status AddRouterInterface(const IpAddress& address, LinkId link);

  // Nothing for an address that is not known.
  std::optional<NicId> FindNic(const IpAddress& address) const;
  std::optional<LinkId> FindLink(const IpAddress& address) const;
  // Unset for a NIC that has none.
  IpAddress AddressOf(NicId nic) const;

  // The links from a NIC to another that these routers answered from: those of `hops` in order, and the last one, from
  // the leaf to the destination. Of several cables from that leaf it is the one to the port of the same number as that
  // at which the route began (a plane does not change on the way), else the first. Empty where a hop was silent or
  // unknown, or the links do not follow one another.
  // Cost: O(hops).
  std::vector<LinkId> RouteOf(const Fabric& fabric, NicId source, NicId destination,
                              std::span<const IpAddress> hops) const;

  size_t num_nics() const { return nics_.size(); }  // addresses of NICs
  // In no order.
  const std::unordered_map<IpAddress, NicId, IpAddressHash>& nics() const { return nics_; }
  const std::unordered_map<IpAddress, LinkId, IpAddressHash>& router_interfaces() const { return links_; }

 private:
  std::unordered_map<IpAddress, NicId, IpAddressHash> nics_;
  std::unordered_map<IpAddress, LinkId, IpAddressHash> links_;
  std::unordered_map<NicId, IpAddress> addresses_;  // the first one of each
};

// A map of the addresses file from IP addresses to names of the fabric.
struct AddressMapKey {
  std::string_view name;
  std::string_view meaning;     // of the addresses
  std::string_view named;       // how what has them is named
  std::string_view address;     // for example
  std::string_view name_of_it;  // that has this address
};
// What the file may hold: for its reader, schema and reference page.
std::span<const AddressMapKey> AddressMapKeys();

// {"nics": {"10.0.0.1": "h0/nic0", …}, "interfaces": {"10.128.0.1": "h0/nic0->leaf0", …}}, names as the fabric has
// them. Errors: kInvalidArgument: no JSON, a key or an address that can't be read, a name that the fabric does not
// know, an address that comes twice; `where` appears in the message, with the line where it is known. Cost: O(n log n).
Result<AddressBook> ReadAddressBook(std::string_view text, const std::string& where, const Fabric& fabric);
// What ReadAddressBook() reads: the same book.
std::string WriteAddressBook(const AddressBook& book, const Fabric& fabric);

}  // namespace fairlead::topology
