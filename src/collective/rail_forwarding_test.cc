#include "collective/rail_forwarding.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "collective/collective_kind.h"
#include "collective/simple_iteration.h"
#include "topology/rail_fabric.h"
#include "topology/router.h"

namespace fairlead::collective {
namespace {

topology::Fabric RailOnly(uint32_t segments, uint32_t spines) {
  return topology::BuildRail({.segments = segments, .hosts_per_segment = 2, .spines = spines, .rail_only = true})
      .value();
}

model::Iteration AmongAll(const topology::Fabric& fabric, CollectiveKind kind) {
  model::Placement placement;
  for (uint32_t g = 0; g < fabric.num_gpus(); ++g) placement.gpus.emplace_back(g);
  return BuildSimpleIteration({.compute_time = Seconds(0.1), .size = Bytes(8e9), .collective = kind},
                              MakeRankLayout(placement, fabric), fabric.gpu_peak())
      .value();
}

// Bytes between each pair of hosts.
std::map<std::pair<HostId, HostId>, double> BytesBetweenHosts(const topology::Fabric& fabric,
                                                              const model::Iteration& iteration) {
  std::map<std::pair<HostId, HostId>, double> bytes;
  for (const model::FlowDemand& flow : iteration.flows) {
    const std::pair hosts(fabric.host_of(flow.source), fabric.host_of(flow.destination));
    if (hosts.first != hosts.second) bytes[hosts] += flow.bytes.value();
  }
  return bytes;
}

size_t CountCutOff(const topology::Fabric& fabric, const model::Iteration& iteration) {
  const topology::Router router(fabric);
  return static_cast<size_t>(std::ranges::count_if(iteration.flows, [&](const model::FlowDemand& flow) {
    return router.CountPaths(flow.source, flow.destination) == 0;
  }));
}

TEST(RailForwardingTest, EveryCollectiveFindsItsWayWithoutSpinesBetweenRails) {
  for (const auto& [segments, spines] : {std::pair(1u, 0u), std::pair(2u, 3u)}) {
    const topology::Fabric fabric = RailOnly(segments, spines);
    EXPECT_FALSE(fabric.joins_rails());
    for (size_t kind = 0; kind < CollectiveNames().size(); ++kind) {
      SCOPED_TRACE(CollectiveNames()[kind]);
      const model::Iteration before = AmongAll(fabric, static_cast<CollectiveKind>(kind));
      model::Iteration after = before;
      ForwardByRail(fabric, &after);
      EXPECT_EQ(CountCutOff(fabric, after), 0u);
      const auto bytes_before = BytesBetweenHosts(fabric, before);
      const auto bytes_after = BytesBetweenHosts(fabric, after);
      ASSERT_EQ(bytes_after.size(), bytes_before.size());
      for (const auto& [hosts, bytes] : bytes_before) EXPECT_NEAR(bytes_after.at(hosts), bytes, 1e-6 * bytes);
      EXPECT_EQ(after.num_groups, before.num_groups);
      EXPECT_EQ(after.phases.size(), before.phases.size());
    }
  }
}

// A flat ring leaves a host on its last rail and enters the next one on its first: cut off if it is not forwarded.
TEST(RailForwardingTest, WithoutItAFlatRingIsCutOff) {
  const topology::Fabric fabric = RailOnly(1, 0);
  EXPECT_EQ(CountCutOff(fabric, AmongAll(fabric, CollectiveKind::kRingAllReduce)), 2u);
}

TEST(RailForwardingTest, WhatStaysOnItsRailIsNotTouched) {
  const topology::Fabric fabric = topology::BuildRail({.hosts_per_segment = 4}).value();
  const model::Iteration before = AmongAll(fabric, CollectiveKind::kHierarchicalAllReduce);
  model::Iteration after = before;
  ForwardByRail(fabric, &after);
  EXPECT_EQ(after, before);
}

// n (n - g) messages of an all-to-all cross the network on any rail; forwarded they leave a host on the rail where they
// arrive, from the GPU of equal place.
TEST(RailForwardingTest, AllToAllChangesTheRailFirst) {
  const topology::Fabric fabric = topology::BuildRail({.hosts_per_segment = 4}).value();
  model::Iteration iteration = AmongAll(fabric, CollectiveKind::kAllToAll);
  ForwardByRail(fabric, &iteration);
  size_t between_hosts = 0;
  for (const model::FlowDemand& flow : iteration.flows) {
    if (fabric.host_of(flow.source) == fabric.host_of(flow.destination)) continue;
    ++between_hosts;
    EXPECT_EQ(flow.source.value() % 8, flow.destination.value() % 8);
  }
  EXPECT_EQ(between_hosts, 32u * 24);
}

}  // namespace
}  // namespace fairlead::collective
