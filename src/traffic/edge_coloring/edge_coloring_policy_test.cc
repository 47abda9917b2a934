#include "traffic/edge_coloring/edge_coloring_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.h"
#include "traffic/traffic_example.h"

namespace fairlead::traffic::edge_coloring {
namespace {

using testing::HasSubstr;

// Most flows on one cable between leaves and spines.
uint32_t MostOnACable(const ExampleCluster& cluster, const TrafficPlan& plan) {
  std::map<LinkId, uint32_t> flows;
  uint32_t most = 0;
  for (const JobPlan& job : plan.jobs) {
    for (const model::Path& path : job.paths) {
      for (const LinkId link : path) {
        if (cluster.fabric().tier(link) == topology::LinkTier::kLeafSpine) most = std::max(most, ++flows[link]);
      }
    }
  }
  return most;
}

// Random flows between four leaves of four hosts: with D the most that a leaf sends or receives, ceil(D / S) at most.
TEST(EdgeColoringPolicyTest, NoCableCarriesMoreThanItMust) {
  Random random(2);
  for (const uint32_t num_spines : {1u, 2u, 3u, 8u}) {
    for (int i = 0; i < 20; ++i) {
      ExampleCluster cluster(MakeSmallClos(4, 4, num_spines));
      std::vector<uint32_t> sent(4), received(4);
      for (uint32_t j = 0; j < 3; ++j) {
        std::vector<model::FlowDemand> flows;
        for (uint64_t f = random.Below(30); f > 0; --f) {
          const auto from = static_cast<uint32_t>(random.Below(16));
          const auto to = static_cast<uint32_t>((from + 1 + random.Below(15)) % 16);
          flows.push_back({cluster.gpu(from), cluster.gpu(to), Bytes(1), 0});
          if (from / 4 == to / 4) continue;
          ++sent[from / 4];
          ++received[to / 4];
        }
        cluster.AddJob(j, 1, flows);
      }
      const uint32_t degree = std::max(std::ranges::max(sent), std::ranges::max(received));
      const TrafficPlan plan = EdgeColoringPolicy().Plan(cluster.Snapshot());
      // No fewer: the leaf with the most has no more cables.
      EXPECT_EQ(MostOnACable(cluster, plan), (degree + num_spines - 1) / num_spines);
    }
  }
}

// A ring of two phases has one connection for both: with as many rings as spines none shares a cable.
TEST(EdgeColoringPolicyTest, PhasesShareTheirConnections) {
  ExampleCluster cluster(MakeSmallClos(2, 2, 2));
  std::vector<model::Iteration> iterations(2);
  TrafficSnapshot snapshot = cluster.Snapshot();
  std::vector<JobView> views(2);
  for (uint32_t j = 0; j < 2; ++j) {
    const model::FlowDemand there = {cluster.gpu(j), cluster.gpu(2 + j), Bytes(1), 0};
    iterations[j].flows = {there, there};
    iterations[j].phases = {{.name = "scatter", .first_flow = 0, .num_flows = 1},
                            {.name = "gather", .first_flow = 1, .num_flows = 1}};
    views[j].id = JobId(j);
    views[j].iteration = &iterations[j];
  }
  snapshot.jobs = views;
  const TrafficPlan plan = EdgeColoringPolicy().Plan(snapshot);
  EXPECT_EQ(plan.jobs[0].paths[0], plan.jobs[0].paths[1]);
  EXPECT_EQ(MostOnACable(cluster, plan), 2u) << "both phases of one job";
  EXPECT_THAT(plan.jobs[0].reason, HasSubstr("2 flows between leaves on paths by 2 colours"));
}

TEST(EdgeColoringPolicyTest, FlowsWithoutAPathAreCutOff) {
  ExampleCluster cluster(MakeSmallClos(2, 1, 2));
  cluster.AddJob(0, 1, {{cluster.gpu(0), cluster.gpu(1), Bytes(1), 0}});
  cluster.SetHealth(cluster.fabric().FindLink("leaf0->spine0"), 0);
  const TrafficPlan one = EdgeColoringPolicy().Plan(cluster.Snapshot());
  EXPECT_EQ(std::ranges::count(one.jobs[0].paths[0], cluster.fabric().FindLink("leaf0->spine1")), 1);
  cluster.SetHealth(cluster.fabric().FindLink("leaf0->spine1"), 0);
  const TrafficPlan none = EdgeColoringPolicy().Plan(cluster.Snapshot());
  EXPECT_TRUE(none.jobs[0].paths[0].empty());
  EXPECT_THAT(none.jobs[0].reason, HasSubstr("1 flows cut off by failures"));
}

}  // namespace
}  // namespace fairlead::traffic::edge_coloring
