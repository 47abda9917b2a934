// Spraying and minimal splitting: how flows are divided over their paths.
#include "traffic/flow_router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "traffic/ethereal/ethereal_router.h"
#include "traffic/link_traffic.h"
#include "traffic/path_bundle.h"
#include "traffic/policy_registry.h"
#include "traffic/spray/spray_router.h"
#include "traffic/traffic_example.h"

namespace fairlead::traffic {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr double kFlowBytes = 25e9;

// Bytes on each uplink of leaf 0, [spine].
std::vector<double> UplinkBytes(const ExampleCluster& cluster, const std::vector<model::Path>& paths, uint32_t spines) {
  const TrafficSnapshot snapshot = cluster.Snapshot();
  const LinkTable links = MakeLinkTable(snapshot);
  const JobTraffic traffic = LinkTrafficMeter(links).Measure(cluster.iteration(0), paths);
  std::vector<double> bytes;
  for (uint32_t s = 0; s < spines; ++s) {
    const LinkId link = cluster.fabric().FindLink("leaf0->spine" + std::to_string(s));
    bytes.push_back(0);
    for (const LinkBytes& use : traffic.links) {
      if (use.link == link) bytes.back() = use.bytes.value();
    }
  }
  return bytes;
}

std::vector<model::Path> Route(const ExampleCluster& cluster, const FlowRouter& router) {
  const TrafficSnapshot snapshot = cluster.Snapshot();
  return router.RouteJob(snapshot, snapshot.jobs[0]).paths;
}

TEST(SprayRouterTest, AFlowTakesAllLivePathsAlike) {
  ExampleCluster cluster(MakeSmallClos(2, 2, 6));
  cluster.AddJob(0, 1e15, {{cluster.gpu(0), cluster.gpu(2), Bytes(kFlowBytes), 0}});
  const spray::SprayRouter router({});
  EXPECT_EQ(NumParts(Route(cluster, router)[0]), 6u);
  EXPECT_THAT(UplinkBytes(cluster, Route(cluster, router), 6), Each(testing::DoubleNear(kFlowBytes / 6, 1)));
  cluster.SetHealth(cluster.fabric().FindLink("spine2->leaf1"), 0);
  EXPECT_EQ(NumParts(Route(cluster, router)[0]), 5u);
  EXPECT_NEAR(UplinkBytes(cluster, Route(cluster, router), 6)[2], 0, 1e-9);
}

TEST(SprayRouterTest, AdaptiveSplitsFollowCapacities) {
  // Two uplinks, one at half rate: 2/3 and 1/3 of the flow; oblivious: half each.
  ExampleCluster cluster(MakeSmallClos(2, 2, 2));
  cluster.AddJob(0, 1e15, {{cluster.gpu(0), cluster.gpu(2), Bytes(kFlowBytes), 0}});
  cluster.SetHealth(cluster.fabric().FindLink("leaf0->spine1"), 0.5);
  const auto adaptive = UplinkBytes(cluster, Route(cluster, spray::SprayRouter({})), 2);
  EXPECT_NEAR(adaptive[0] / kFlowBytes, 2.0 / 3, 1e-12);
  EXPECT_NEAR(adaptive[1] / kFlowBytes, 1.0 / 3, 1e-12);
  const auto oblivious = UplinkBytes(cluster, Route(cluster, spray::SprayRouter({spray::Split::kOblivious})), 2);
  EXPECT_NEAR(oblivious[0] / kFlowBytes, 0.5, 1e-12);
}

TEST(SprayRouterTest, OddSplitsAreNearAndComplete) {
  ExampleCluster cluster(MakeSmallClos(2, 2, 3));
  cluster.AddJob(0, 1e15, {{cluster.gpu(0), cluster.gpu(2), Bytes(kFlowBytes), 0}});
  cluster.SetHealth(cluster.fabric().FindLink("leaf0->spine1"), 0.317);
  const auto bytes = UplinkBytes(cluster, Route(cluster, spray::SprayRouter({})), 3);
  EXPECT_NEAR(bytes[1] / kFlowBytes, 0.317 / 2.317, 1.0 / 240);
  EXPECT_NEAR((bytes[0] + bytes[1] + bytes[2]) / kFlowBytes, 1, 1e-12);
}

TEST(EtherealTest, AsFewPartsAsEvennessNeeds) {
  // Flows, paths: parts of each split flow, flows sent (specification, section 4.4).
  const auto plan = [](uint32_t flows, uint32_t paths) {
    const ethereal::SplitPlan split = ethereal::PlanSplit(flows, paths);
    return std::pair(split.parts_of_rest, split.num_flows_sent);
  };
  EXPECT_EQ(plan(24, 16), std::pair(2u, 32u));
  EXPECT_EQ(plan(1, 16), std::pair(16u, 16u));
  EXPECT_EQ(plan(5, 4), std::pair(4u, 8u));
  EXPECT_EQ(plan(6, 4), std::pair(2u, 8u));
  EXPECT_EQ(plan(255, 16), std::pair(16u, 480u));
  EXPECT_EQ(plan(32, 16), std::pair(1u, 32u));
}

TEST(EtherealTest, EveryUplinkCarriesTheSame) {
  for (const uint32_t spines : {2u, 3u, 4u, 6u}) {
    for (uint32_t flows = 1; flows <= 7; ++flows) {
      ExampleCluster cluster(MakeSmallClos(2, 8, spines));
      std::vector<model::FlowDemand> demands;
      for (uint32_t f = 0; f < flows; ++f)
        demands.push_back({cluster.gpu(0), cluster.gpu(8 + f), Bytes(kFlowBytes), 0});
      cluster.AddJob(0, 1e15, demands);
      const auto bytes = UplinkBytes(cluster, Route(cluster, ethereal::EtherealRouter()), spines);
      EXPECT_THAT(bytes, Each(testing::DoubleNear(kFlowBytes * flows / spines, 1))) << flows << " flows";
    }
  }
}

TEST(EtherealTest, EachLeafIsDealtOutApart) {
  // Three flows to each of two leaves over two uplinks: one of the three is split in halves, for each leaf.
  ExampleCluster cluster(MakeSmallClos(3, 4, 2));
  std::vector<model::FlowDemand> demands;
  for (const uint32_t to : {4u, 5u, 6u, 8u, 9u, 10u}) {
    demands.push_back({cluster.gpu(0), cluster.gpu(to), Bytes(kFlowBytes), 0});
  }
  cluster.AddJob(0, 1e15, demands);
  const auto paths = Route(cluster, ethereal::EtherealRouter());
  std::vector<uint32_t> parts;
  for (const model::Path& path : paths) parts.push_back(NumParts(path));
  EXPECT_THAT(parts, testing::ElementsAre(1, 1, 2, 1, 1, 2));
  EXPECT_THAT(UplinkBytes(cluster, paths, 2), Each(testing::DoubleNear(kFlowBytes * 3, 1)));
}

TEST(LayeredPolicyTest, CruxOverSprayOrdersJobsOnSprayedPaths) {
  // Sprayed jobs meet on all uplinks, so each pair is ordered, by intensity; paths are those of the router.
  ExampleCluster cluster(MakeSmallClos(2, 4, 4));
  for (uint32_t j = 0; j < 3; ++j) {
    cluster.AddJob(j, 1e15 * (1 + j), {{cluster.gpu(j), cluster.gpu(4 + j), Bytes(kFlowBytes), 0}});
  }
  const TrafficPlan sprayed = CreatePolicy("spray", {}).value()->Plan(cluster.Snapshot());
  const TrafficPlan ordered = CreatePolicy("crux+spray", {}).value()->Plan(cluster.Snapshot());
  for (uint32_t j = 0; j < 3; ++j) {
    EXPECT_EQ(ordered.jobs[j].paths, sprayed.jobs[j].paths);
    EXPECT_EQ(ordered.jobs[j].priority_rank, 2 - j);
    EXPECT_EQ(sprayed.jobs[j].level, 0u);
    EXPECT_THAT(ordered.jobs[j].reason, HasSubstr("sprayed over up to 4 paths"));
  }
  EXPECT_LT(ordered.jobs[2].level, ordered.jobs[1].level);
  EXPECT_LT(ordered.jobs[1].level, ordered.jobs[0].level);
}

}  // namespace
}  // namespace fairlead::traffic
