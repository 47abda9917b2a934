#include "traffic/live_policy.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <utility>

#include "base/random.h"
#include "traffic/policy_registry.h"
#include "traffic/traffic_example.h"

namespace fairlead::traffic {
namespace {

// Ten jobs of one flow each, of unequal worth, across three spines.
std::unique_ptr<ExampleCluster> UnequalJobs(uint64_t seed) {
  auto cluster = std::make_unique<ExampleCluster>(MakeSmallClos(2, 10, 3));
  Random random(seed);
  for (uint32_t j = 0; j < 10; ++j) {
    const std::vector<model::FlowDemand> flows = {
        {.source = cluster->gpu(j), .destination = cluster->gpu(10 + j), .bytes = Bytes(random.Uniform(1e9, 2e10))}};
    cluster->AddJob(j, random.Uniform(1e14, 1e16), flows);
  }
  return cluster;
}

// To compare both worlds, one policy is named.
TEST(LivePolicyTest, AllNamesAreThoseOfTheSimulator) {
  std::set<std::pair<bool, bool>> decisions;
  for (const LivePolicy& policy : LivePolicies()) {
    EXPECT_TRUE(CreatePolicy(policy.name, {}).ok()) << policy.name;
    ASSERT_TRUE(FindLivePolicy(policy.name).ok());
    EXPECT_EQ(FindLivePolicy(policy.name)->decides, policy.decides);
    decisions.insert({policy.chooses_paths, policy.sets_levels});
  }
  EXPECT_EQ(decisions.size(), 4u) << "paths or not, levels or not";
}

// On the paths that a policy of the simulator chooses, the live one sets the levels that it sets.
TEST(LivePolicyTest, LevelsAreThoseOfTheSimulatedPolicy) {
  uint32_t num_unlike = 0;
  for (uint64_t seed = 0; seed < 25; ++seed) {
    std::vector<std::vector<uint32_t>> levels;
    for (const std::string_view name : {"crux-levels", "crux+c4p"}) {
      const auto cluster = UnequalJobs(seed);
      const TrafficPlan simulated = CreatePolicy(name, {}).value()->Plan(cluster->Snapshot());
      cluster->Apply(simulated);
      const TrafficPlan live = CreateLevelPolicy(FindLivePolicy(name).value())->Plan(cluster->Snapshot());
      levels.emplace_back();
      for (size_t j = 0; j < simulated.jobs.size(); ++j) {
        EXPECT_EQ(live.jobs[j].paths, simulated.jobs[j].paths);
        EXPECT_EQ(live.jobs[j].level, simulated.jobs[j].level) << name << ", seed " << seed << ", job " << j;
        levels.back().push_back(live.jobs[j].level);
      }
    }
    num_unlike += levels[0] != levels[1] ? 1 : 0;
  }
  EXPECT_GT(num_unlike, 10u) << "both weigh an order alike";
}

TEST(LivePolicyTest, UnknownNamesAreAnsweredWithTheKnownOnes) {
  EXPECT_EQ(FindLivePolicy("crux").status(),
            NotFound("unknown policy for running jobs 'crux'; known: ecmp, c4p, crux-levels, crux+c4p"));
}

}  // namespace
}  // namespace fairlead::traffic
