#include "lab/lab_routes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/random.h"
#include "topology/rail_fabric.h"
#include "topology/router.h"

namespace fairlead::lab {
namespace {

using topology::Fabric;

Fabric RandomFabric(Random* random) {
  topology::RailSpec spec;
  spec.segments = 1 + static_cast<uint32_t>(random->Below(3));
  spec.hosts_per_segment = 1 + static_cast<uint32_t>(random->Below(2));
  spec.spines = 1 + static_cast<uint32_t>(random->Below(3));
  spec.leaf_uplink.parallel = 1 + static_cast<uint32_t>(random->Below(2));
  spec.shared_planes = random->Below(2) == 0;
  spec.host.gpus = 2;
  spec.host.pcie_switches = 2;
  spec.host.nics = 2;
  spec.host.ports_per_nic = 1 + static_cast<uint32_t>(random->Below(2));
  return topology::BuildRail(spec).value();
}

// Cables of the fabric's links: links 2k and 2k+1 are one cable, and plans number network cables in their order.
std::vector<LinkId> LinksOfCables(const Fabric& fabric) {
  std::vector<LinkId> links;
  for (LinkId link(0u); link.index() < fabric.num_links(); link = LinkId(link.index() + 2)) {
    if (IsNetwork(fabric.tier(link))) links.push_back(link);
  }
  return links;
}

// All ways from a leaf to a NIC that the routes allow, as sequences of cables.
void Walk(const LabPlan& plan, const LabRoutes& routes, LabNodeId at, NicId nic, std::vector<CableId>* way,
          std::set<std::vector<CableId>>* ways) {
  ASSERT_LT(way->size(), 16u) << "a loop";
  for (const CableId cable : routes[at].of_switch[nic.index()].next) {
    way->push_back(cable);
    if (plan.cables[cable].nic == nic) {
      ways->insert(*way);
    } else {
      Walk(plan, routes, plan.cables[cable].ends[1 - EndAt(plan, cable, at)].node, nic, way, ways);
    }
    way->pop_back();
  }
}

TEST(LabRoutes, GoTheWaysOfTheRouter) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    const Fabric fabric = RandomFabric(&random);
    const LabPlan plan = PlanLab(fabric, {}).value();
    const std::vector<LinkId> links = LinksOfCables(fabric);
    CableHealth health(plan.cables.size(), 1);
    topology::LinkHealth link_health(fabric.num_links(), 1);
    for (CableId cable(0u); cable.index() < plan.cables.size(); cable = CableId(cable.index() + 1)) {
      if (random.Below(8) != 0) continue;
      health[cable] = 0;
      link_health[links[cable.index()]] = 0;
      link_health[fabric.reverse(links[cable.index()])] = 0;
    }
    topology::Router router(fabric);
    router.SetHealth(link_health);
    const LabRoutes routes = ComputeRoutes(plan, health);
    for (GpuId source(0u); source.index() < fabric.num_gpus(); source = GpuId(source.index() + 1)) {
      for (GpuId destination(0u); destination.index() < fabric.num_gpus();
           destination = GpuId(destination.index() + 1)) {
        if (fabric.host_of(source) == fabric.host_of(destination)) continue;
        std::set<std::vector<CableId>> theirs;
        std::set<CableId> first_cables;
        for (uint64_t p = 0; p < router.CountPaths(source, destination); ++p) {
          model::Path path;
          router.AppendPath(source, destination, p, &path);
          std::vector<CableId> way;
          for (const LinkId link : path) {
            const LinkId cable(link.value() & ~1u);
            const auto found = std::find(links.begin(), links.end(), cable);
            if (found != links.end()) way.emplace_back(static_cast<size_t>(found - links.begin()));
          }
          theirs.insert(way);
          first_cables.insert(way.front());
        }
        std::set<std::vector<CableId>> ours;
        for (const CableId first : first_cables) {
          std::vector<CableId> way = {first};
          Walk(plan, routes, plan.cables[first].ends[1].node, fabric.nic_of(destination), &way, &ours);
        }
        EXPECT_EQ(ours, theirs) << "seed " << seed;
      }
    }
  }
}

TEST(LabRoutes, HostsSendOverAllPortsThatAreUp) {
  Random random(7);
  topology::RailSpec spec;
  spec.spines = 2;
  spec.hosts_per_segment = 2;
  const LabPlan plan = PlanLab(topology::BuildRail(spec).value(), {}).value();
  CableHealth health(plan.cables.size(), 1);
  const LabNic& nic = plan.nics[NicId(0u)];
  health[nic.cables[0]] = 0;
  const LabRoutes routes = ComputeRoutes(plan, health);
  EXPECT_EQ(routes[nic.host].of_host[0].next, std::vector<CableId>{nic.cables[1]});
  EXPECT_EQ(routes[nic.host].of_host[1].next, plan.nics[NicId(1u)].cables);
}

TEST(LabRoutes, OnlyDifferencesAreCommanded) {
  Random random(3);
  const LabPlan plan = PlanLab(RandomFabric(&random), {}).value();
  const CableHealth healthy(plan.cables.size(), 1);
  CableHealth cut = healthy;
  cut[CableId(plan.cables.size() - 1)] = 0;
  const LabRoutes before = ComputeRoutes(plan, healthy);
  const LabRoutes after = ComputeRoutes(plan, cut);
  size_t num_changed = 0;
  for (LabNodeId node(0u); node.index() < plan.nodes.size(); node = LabNodeId(node.index() + 1)) {
    EXPECT_EQ(RouteCommands(plan, node, before[node], before[node]), "");
    num_changed += RouteCommands(plan, node, before[node], after[node]).empty() ? 0 : 1;
  }
  EXPECT_GT(num_changed, 0u);
  EXPECT_EQ(ComputeRoutes(plan, healthy), before) << "a repaired cable brings the old routes back";
}

}  // namespace
}  // namespace fairlead::lab
