#include "traffic/ecmp/ecmp_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "traffic/default_paths.h"
#include "traffic/traffic_example.h"

namespace fairlead::traffic {
namespace {

using testing::HasSubstr;

// Eight hosts under each of two leaves, eight spines; one job of eight flows between them.
void AddWideJob(ExampleCluster* cluster, uint32_t id) {
  std::vector<model::FlowDemand> flows;
  for (uint32_t h = 0; h < 8; ++h) flows.push_back({cluster->gpu(h), cluster->gpu(8 + h), Bytes(1e9), 0});
  cluster->AddJob(id, 1, flows);
}

LinkId Uplink(const topology::Fabric& fabric, const model::Path& path) {
  for (const LinkId link : path) {
    if (fabric.tier(link) == topology::LinkTier::kLeafSpine) return link;
  }
  return LinkId();
}

TEST(EcmpPolicyTest, EightFlowsUseFiveAndAQuarterOfEightPathsOnAverage) {
  ExampleCluster cluster(MakeSmallClos(2, 8, 8));
  AddWideJob(&cluster, 0);
  constexpr int kSeeds = 2000;
  double used = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    TrafficSnapshot snapshot = cluster.Snapshot();
    snapshot.hash_seed = seed;
    std::set<LinkId> uplinks;
    const TrafficPlan plan = EcmpPolicy().Plan(snapshot);
    for (const model::Path& path : plan.jobs[0].paths) uplinks.insert(Uplink(cluster.fabric(), path));
    used += static_cast<double>(uplinks.size()) / kSeeds;
  }
  // m (1 - (1 - 1/m)^n) = 8 (1 - (7/8)^8) = 5.251. The standard deviation of one draw is below 1, of the mean below
  // 0.023; four of them.
  EXPECT_NEAR(used, 8 * (1 - std::pow(7.0 / 8, 8)), 0.092);
}

TEST(EcmpPolicyTest, AllJobsShareOneLevel) {
  ExampleCluster cluster(MakeSmallClos(2, 8, 8));
  AddWideJob(&cluster, 0);
  AddWideJob(&cluster, 5);
  const TrafficPlan plan = EcmpPolicy().Plan(cluster.Snapshot());
  ASSERT_EQ(plan.jobs.size(), 2u);
  EXPECT_EQ(plan.jobs[0].level, 0u);
  EXPECT_EQ(plan.jobs[1].level, 0u);
  EXPECT_EQ(plan.jobs[1].id, JobId(5u));
  EXPECT_EQ(plan.jobs[0].reason, "8 flows on the paths of their hashes; one level for all jobs");
  EXPECT_NE(plan.jobs[0].paths, plan.jobs[1].paths) << "two jobs draw different source ports";
}

TEST(EcmpPolicyTest, AFailureMovesOnlyTheFlowsThatCrossedIt) {
  ExampleCluster cluster(MakeSmallClos(2, 8, 8));
  AddWideJob(&cluster, 0);
  const TrafficPlan before = EcmpPolicy().Plan(cluster.Snapshot());
  cluster.Apply(before);
  const LinkId dead = Uplink(cluster.fabric(), before.jobs[0].paths[0]);
  cluster.SetHealth(dead, 0);
  const TrafficPlan after = EcmpPolicy().Plan(cluster.Snapshot());
  for (size_t f = 0; f < 8; ++f) {
    const bool crossed = Uplink(cluster.fabric(), before.jobs[0].paths[f]) == dead;
    EXPECT_EQ(after.jobs[0].paths[f] != before.jobs[0].paths[f], crossed) << "flow " << f;
    EXPECT_NE(Uplink(cluster.fabric(), after.jobs[0].paths[f]), dead);
  }
}

TEST(EcmpPolicyTest, ADegradedLinkKeepsItsFlows) {
  ExampleCluster cluster(MakeSmallClos(2, 8, 8));
  AddWideJob(&cluster, 0);
  const TrafficPlan before = EcmpPolicy().Plan(cluster.Snapshot());
  cluster.Apply(before);
  cluster.SetHealth(Uplink(cluster.fabric(), before.jobs[0].paths[0]), 0.5);
  EXPECT_EQ(EcmpPolicy().Plan(cluster.Snapshot()).jobs[0].paths, before.jobs[0].paths);
}

TEST(EcmpPolicyTest, AFlowWithoutAnyPathIsCutOff) {
  ExampleCluster cluster(MakeSmallClos(2, 8, 1));
  AddWideJob(&cluster, 0);
  cluster.SetHealth(Uplink(cluster.fabric(), EcmpPolicy().Plan(cluster.Snapshot()).jobs[0].paths[0]), 0);
  const TrafficPlan plan = EcmpPolicy().Plan(cluster.Snapshot());
  for (const model::Path& path : plan.jobs[0].paths) EXPECT_TRUE(path.empty());
  EXPECT_THAT(plan.jobs[0].reason, HasSubstr("8 flows cut off by failures"));
}

TEST(DefaultPathsTest, SourcePortsAreRoceV2Ports) {
  const ExampleCluster cluster(MakeSmallClos(2, 8, 8));
  std::set<uint16_t> ports;
  for (uint32_t flow = 0; flow < 1000; ++flow) {
    const model::FiveTuple tuple = FlowTuple(cluster.fabric(), JobId(3u), flow, cluster.gpu(0), cluster.gpu(9));
    EXPECT_GE(tuple.source_port, 49152);
    EXPECT_EQ(tuple.destination_port, 4791);
    ports.insert(tuple.source_port);
  }
  // 16384 (1 - (1 - 1/16384)^1000) = 970 different ones on average; the standard deviation is about 5.
  EXPECT_GT(ports.size(), 940u);
}

}  // namespace
}  // namespace fairlead::traffic
