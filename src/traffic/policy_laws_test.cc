// The promises of docs/internals/modules/traffic.md, for every registered policy.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "traffic/plan_laws.h"
#include "traffic/policy_registry.h"

namespace fairlead::traffic {
namespace {

constexpr uint64_t kNumSeeds = 25;

class PolicyLawsTest : public testing::TestWithParam<std::string_view> {
 protected:
  PolicyLawsTest() : policy_(CreatePolicy(GetParam(), {}).value()) {}

  const std::unique_ptr<TrafficPolicy> policy_;
};

// Some jobs slow, some starved, so that fairness and guard have something to do.
void DrawSpeeds(uint64_t seed, ExampleCluster* cluster) {
  Random random(seed);
  for (size_t j = 0; j < cluster->Snapshot().jobs.size(); ++j) {
    const double speed = random.Uniform();
    cluster->SetSpeed(j, speed, Seconds(speed < kStarvedBelow ? random.Uniform(0, 300) : 0));
  }
}

TEST_P(PolicyLawsTest, PlansAreLegalBeforeAndAfterFailures) {
  for (uint64_t seed = 0; seed < kNumSeeds; ++seed) {
    const auto cluster = DrawCluster(seed);
    TrafficSnapshot snapshot = cluster->Snapshot();
    snapshot.num_levels = static_cast<uint32_t>(1 + seed % 5);
    const TrafficPlan before = policy_->Plan(snapshot);
    ExpectLegal(*cluster, snapshot, *policy_, before);
    cluster->Apply(before);
    BreakAFifth(seed, cluster.get());
    DrawSpeeds(seed, cluster.get());
    snapshot = cluster->Snapshot();
    ExpectLegal(*cluster, snapshot, *policy_, policy_->Plan(snapshot));
  }
}

// Jobs meet inside hosts as well, where levels count as much.
TEST_P(PolicyLawsTest, PlansAreLegalWhereJobsMeetInsideHosts) {
  for (uint64_t seed = 0; seed < 2 * kNumSeeds; ++seed) {
    const auto cluster = DrawJobs(MakeBondedClos(), seed);
    TrafficSnapshot snapshot = cluster->Snapshot();
    snapshot.num_levels = static_cast<uint32_t>(1 + seed % 8);
    ExpectLegal(*cluster, snapshot, *policy_, policy_->Plan(snapshot));
  }
}

TEST_P(PolicyLawsTest, SameSnapshotSamePlan) {
  for (uint64_t seed = 0; seed < kNumSeeds; ++seed) {
    const auto cluster = DrawCluster(seed);
    const TrafficPlan first = policy_->Plan(cluster->Snapshot());
    // Another object, with other plans behind it.
    const auto other = CreatePolicy(GetParam(), {}).value();
    static_cast<void>(other->Plan(DrawCluster(seed + 1)->Snapshot()));
    const TrafficPlan second = other->Plan(cluster->Snapshot());
    ExpectSameDecisions(first, second);
    for (size_t j = 0; j < first.jobs.size(); ++j) EXPECT_EQ(first.jobs[j].reason, second.jobs[j].reason);
  }
}

// Twice the bytes on links twice as fast: no time changes, so no decision may. A power of two, so that no rounding
// does.
TEST_P(PolicyLawsTest, ScalingCapacitiesAndBytesChangesNothing) {
  for (uint64_t seed = 0; seed < kNumSeeds; ++seed) {
    const auto cluster = DrawCluster(seed);
    const auto scaled = DrawCluster(seed, 1, 2);
    ExpectSameDecisions(policy_->Plan(cluster->Snapshot()), policy_->Plan(scaled->Snapshot()));
  }
}

TEST_P(PolicyLawsTest, RenamingJobsInOrderChangesNothing) {
  for (uint64_t seed = 0; seed < kNumSeeds; ++seed) {
    const auto cluster = DrawCluster(seed);
    const auto renamed = DrawCluster(seed, 17);
    // Hashes depend on ids, so both start from the same paths in force.
    const TrafficPlan in_force = HashedPlan(cluster->Snapshot());
    cluster->Apply(in_force);
    renamed->Apply(in_force);
    ExpectSameDecisions(policy_->Plan(cluster->Snapshot()), policy_->Plan(renamed->Snapshot()));
  }
}

// The controller plans no job again when such a job comes or goes.
TEST_P(PolicyLawsTest, AJobThatStaysOnNvlinkChangesNothingForOthers) {
  for (uint64_t seed = 0; seed < kNumSeeds; ++seed) {
    const auto cluster = DrawCluster(seed);
    const TrafficPlan without = policy_->Plan(cluster->Snapshot());
    cluster->AddJob(1000, 1e15, {{cluster->gpu(0, 0), cluster->gpu(0, 1), Bytes(1e9), 0}});
    TrafficPlan with = policy_->Plan(cluster->Snapshot());
    // Nor do the others change anything for it.
    TrafficSnapshot alone = cluster->Snapshot();
    alone.jobs = alone.jobs.last(1);
    ExpectSameDecisions(policy_->Plan(alone), {{with.jobs.back()}});
    with.jobs.pop_back();
    ExpectSameDecisions(without, with);
  }
}

TEST_P(PolicyLawsTest, AnEmptyClusterHasAnEmptyPlan) {
  const ExampleCluster cluster(MakeSmallClos(2, 1, 2));
  EXPECT_TRUE(policy_->Plan(cluster.Snapshot()).jobs.empty());
}

std::string NameOf(const testing::TestParamInfo<std::string_view>& param) {
  std::string name(param.param);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-' || c == '+'; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, PolicyLawsTest, testing::ValuesIn(PolicyNames()), NameOf);

}  // namespace
}  // namespace fairlead::traffic
