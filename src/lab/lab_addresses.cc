#include "lab/lab_addresses.h"

#include "base/check.h"

namespace fairlead::lab {

topology::AddressBook AddressBookOf(const topology::Fabric& fabric, const LabPlan& plan) {
  topology::AddressBook book;
  // The plan gives every address once.
  for (NicId nic(0u); nic.index() < plan.nics.size(); nic = NicId(nic.index() + 1)) {
    FL_CHECK(book.AddNic(IpAddress::FromIpv4(plan.nics[nic].address), nic).ok());
  }
  CableId cable(0u);
  // Links 2k and 2k+1 are the two directions of a cable.
  for (LinkId link(0u); link.index() < fabric.num_links(); link = LinkId(link.index() + 2)) {
    if (!topology::IsNetwork(fabric.tier(link))) continue;
    const bool is_upward = fabric.kind(fabric.source(link)) < fabric.kind(fabric.destination(link));
    const LinkId up = is_upward ? link : fabric.reverse(link);
    const auto& ends = plan.cables[cable].ends;
    FL_CHECK(book.AddRouterInterface(IpAddress::FromIpv4(ends[1].address), up).ok());
    // A host answers from its NIC's address.
    if (!plan.cables[cable].nic.valid()) {
      FL_CHECK(book.AddRouterInterface(IpAddress::FromIpv4(ends[0].address), fabric.reverse(up)).ok());
    }
    cable = CableId(cable.index() + 1);
  }
  FL_CHECK(cable.index() == plan.cables.size());
  return book;
}

}  // namespace fairlead::lab
