#include "traffic/fixed/fixed_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "traffic/traffic_example.h"

namespace fairlead::traffic::fixed {
namespace {

using testing::HasSubstr;

constexpr double kSecond = 25e9;

TEST(FixedPolicyTest, JobsGetThePathsAndLevelsThatAreGiven) {
  ExampleCluster cluster(MakeSmallClos(2, 4, 4));
  for (uint32_t j = 0; j < 4; ++j) {
    cluster.AddJob(j, 1e15, {{cluster.gpu(j), cluster.gpu(4 + j), Bytes(kSecond), 0}});
  }
  const NodeId spine3 = cluster.fabric().FindNode("spine3");
  const FixedPolicy policy({{{.job = JobId(0), .path = 1, .level = 2},
                             {.job = JobId(1), .path = 5},
                             {.job = JobId(2), .via = spine3, .level = 100}}});
  const TrafficPlan plan = policy.Plan(cluster.Snapshot());
  const auto path = [&](uint32_t job, uint64_t index) {
    model::Path result;
    cluster.router().AppendPath(cluster.gpu(job), cluster.gpu(4 + job), index, &result);
    return result;
  };
  EXPECT_EQ(plan.jobs[0].paths[0], path(0, 1));
  EXPECT_EQ(plan.jobs[0].level, 2u);
  EXPECT_EQ(plan.jobs[1].paths[0], path(1, 1)) << "the fifth of four";
  EXPECT_EQ(plan.jobs[2].paths[0], path(2, 3));
  EXPECT_EQ(plan.jobs[2].level, 7u);
  EXPECT_EQ(plan.jobs[3].paths, HashedPlan(cluster.Snapshot()).jobs[3].paths);
  EXPECT_THAT(plan.jobs[2].reason, HasSubstr("through spine3"));
}

TEST(FixedPolicyTest, ADeadPathIsReplacedAndComesBack) {
  ExampleCluster cluster(MakeSmallClos(2, 2, 2));
  cluster.AddJob(0, 1e15, {{cluster.gpu(0), cluster.gpu(2), Bytes(kSecond), 0}});
  const FixedPolicy policy({{{.job = JobId(0), .via = cluster.fabric().FindNode("spine1")}}});
  const model::Path given = policy.Plan(cluster.Snapshot()).jobs[0].paths[0];
  cluster.Apply(policy.Plan(cluster.Snapshot()));
  const LinkId uplink = cluster.fabric().FindLink("leaf0->spine1");
  cluster.SetHealth(uplink, 0);
  const TrafficPlan around = policy.Plan(cluster.Snapshot());
  EXPECT_NE(around.jobs[0].paths[0], given);
  EXPECT_FALSE(around.jobs[0].paths[0].empty());
  cluster.Apply(around);
  cluster.SetHealth(uplink, 1);
  EXPECT_EQ(policy.Plan(cluster.Snapshot()).jobs[0].paths[0], given);
}

}  // namespace
}  // namespace fairlead::traffic::fixed
