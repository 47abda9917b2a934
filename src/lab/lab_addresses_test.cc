#include "lab/lab_addresses.h"

#include <gtest/gtest.h>

#include <vector>

#include "topology/clos_fabrics.h"
#include "topology/rail_fabric.h"
#include "topology/router.h"

namespace fairlead::lab {
namespace {

using topology::Fabric;

// Who answers probes that follow a path, found by the names of cables: each switch, from the interface at which the
// path comes in.
std::vector<IpAddress> AnswersAlong(const Fabric& fabric, const LabPlan& plan, std::span<const LinkId> path) {
  std::vector<IpAddress> answers;
  for (const LinkId link : path) {
    if (!topology::IsNetwork(fabric.tier(link))) continue;
    const NodeId to = fabric.destination(link);
    if (!topology::IsNetworkSwitch(fabric.kind(to))) continue;
    const CableId cable = FindCable(plan, fabric.LinkName(link));
    const size_t end = EndAt(plan, cable, FindNode(plan, fabric.NodeName(to)));
    answers.push_back(IpAddress::FromIpv4(plan.cables[cable].ends[end].address));
  }
  return answers;
}

void ExpectRoutesAreFound(const Fabric& fabric) {
  const LabPlan plan = PlanLab(fabric, {}).value();
  const topology::AddressBook book = AddressBookOf(fabric, plan);
  const topology::Router router(fabric);
  EXPECT_EQ(book.num_nics(), fabric.num_nics());
  for (GpuId from(0u); from.index() < fabric.num_gpus(); from = GpuId(from.index() + 1)) {
    const NicId source = fabric.nic_of(from);
    EXPECT_EQ(book.FindNic(book.AddressOf(source)), source);
    for (GpuId to(0u); to.index() < fabric.num_gpus(); to = GpuId(to.index() + 1)) {
      if (fabric.host_of(from) == fabric.host_of(to)) continue;
      const auto candidates = router.FindCandidates(from, to, 64);
      for (size_t i = 0; i < candidates.size(); ++i) {
        std::vector<LinkId> network;
        for (const LinkId link : candidates.Path(i)) {
          if (topology::IsNetwork(fabric.tier(link))) network.push_back(link);
        }
        EXPECT_EQ(book.RouteOf(fabric, source, fabric.nic_of(to), AnswersAlong(fabric, plan, network)), network);
      }
    }
  }
}

TEST(LabAddresses, ProbesAlongAnyPathNameItsLinks) {
  topology::ClosSpec clos;
  clos.leaves = 3;
  clos.hosts_per_leaf = 2;
  clos.spines = 2;
  clos.host.gpus = 1;
  clos.host.nics = 1;
  clos.host.pcie_switches = 1;
  clos.host.sockets = 1;
  ExpectRoutesAreFound(topology::BuildClos(clos).value());
}

TEST(LabAddresses, BondedPortsOfTwoPlanesToo) {
  topology::RailSpec rail;
  rail.segments = 2;
  rail.hosts_per_segment = 2;
  rail.spines = 2;
  rail.host.gpus = 1;
  rail.host.pcie_switches = 1;
  rail.host.sockets = 1;
  rail.host.nics = 1;
  rail.host.ports_per_nic = 2;
  ExpectRoutesAreFound(topology::BuildRail(rail).value());
}

}  // namespace
}  // namespace fairlead::lab
