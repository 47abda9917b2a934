// The orders, paths and levels of the coflow baselines on clusters small enough to work out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "traffic/plan_laws.h"
#include "traffic/sincronia/sincronia_policy.h"
#include "traffic/taccl_star/taccl_star_policy.h"
#include "traffic/traffic_example.h"
#include "traffic/varys/varys_policy.h"

namespace fairlead::traffic {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// One second on a port of 200 Gb/s.
constexpr double kSecond = 25e9;

std::vector<uint32_t> RanksOf(const TrafficPlan& plan) {
  std::vector<uint32_t> ranks;
  for (const JobPlan& job : plan.jobs) ranks.push_back(job.priority_rank);
  return ranks;
}

std::vector<uint32_t> LevelsOf(const TrafficPlan& plan) {
  std::vector<uint32_t> levels;
  for (const JobPlan& job : plan.jobs) levels.push_back(job.level);
  return levels;
}

// Four jobs of one flow through one spine, of 0.4, 0.1, 0.3 and 0.2 s.
class CoflowBaselineTest : public testing::Test {
 protected:
  CoflowBaselineTest() : cluster_(MakeSmallClos(2, 4, 1)) {
    const std::vector<double> seconds = {0.4, 0.1, 0.3, 0.2};
    for (uint32_t j = 0; j < 4; ++j) {
      cluster_.AddJob(j, 1e15, {{cluster_.gpu(j), cluster_.gpu(4 + j), Bytes(seconds[j] * kSecond), 0}});
    }
  }

  TrafficSnapshot SnapshotOf(uint32_t num_levels) const {
    TrafficSnapshot snapshot = cluster_.Snapshot();
    snapshot.num_levels = num_levels;
    return snapshot;
  }

  ExampleCluster cluster_;
};

TEST_F(CoflowBaselineTest, SincroniaServesTheSmallestFirstAndLevelsTheTopRanks) {
  // One uplink bounds all: loads .4, .1, .3, .2, the smallest goes first: ranks 3, 0, 2, 1. Two levels: Figure 13.
  const TrafficPlan plan = sincronia::SincroniaPolicy().Plan(SnapshotOf(2));
  EXPECT_THAT(RanksOf(plan), ElementsAre(3, 0, 2, 1));
  EXPECT_THAT(LevelsOf(plan), ElementsAre(1, 0, 1, 1));
  EXPECT_THAT(LevelsOf(sincronia::SincroniaPolicy().Plan(SnapshotOf(3))), ElementsAre(2, 0, 2, 1));
  EXPECT_THAT(plan.jobs[0].reason, HasSubstr("for 0.4 s; rank 3 of 4, level 1 of 2; 1 new paths"));
}

TEST_F(CoflowBaselineTest, VarysServesTheSmallestFirstInEqualGroups) {
  const TrafficPlan plan = varys::VarysPolicy().Plan(SnapshotOf(2));
  EXPECT_THAT(RanksOf(plan), ElementsAre(3, 0, 2, 1));
  EXPECT_THAT(LevelsOf(plan), ElementsAre(1, 0, 1, 0));
  EXPECT_THAT(plan.jobs[1].reason, HasSubstr("smallest bottleneck first: 0.1 s on "));
}

TEST_F(CoflowBaselineTest, HostsPaceAllJobsWhereEachHasALevelElseThoseOfALevel) {
  const auto turns = [&](uint32_t num_levels, const TrafficPolicy& policy) {
    std::vector<std::optional<CoflowTurn>> all;
    for (const JobPlan& job : policy.Plan(SnapshotOf(num_levels)).jobs) all.push_back(job.senders.turn);
    return all;
  };
  constexpr Pacing kDefault = Pacing::kMaddAndBackfill;
  using Turn = CoflowTurn;
  EXPECT_THAT(turns(4, varys::VarysPolicy()),
              ElementsAre(Turn{kDefault, 0, 3}, Turn{kDefault, 0, 0}, Turn{kDefault, 0, 2}, Turn{kDefault, 0, 1}));
  EXPECT_THAT(turns(2, varys::VarysPolicy()),
              ElementsAre(Turn{kDefault, 1, 3}, Turn{kDefault, 0, 0}, Turn{kDefault, 1, 2}, Turn{kDefault, 0, 1}));
  EXPECT_THAT(turns(2, sincronia::SincroniaPolicy()), testing::Each(std::nullopt));
  EXPECT_THAT(turns(2, sincronia::SincroniaPolicy({.pacing = Pacing::kMadd})),
              testing::Contains(Turn{Pacing::kMadd, 1, 3}));
}

TEST_F(CoflowBaselineTest, BaselinesLeaveFlowsOnThePathsOfTheirHashes) {
  const TrafficPlan hashed = HashedPlan(SnapshotOf(2));
  for (const TrafficPlan& plan :
       {sincronia::SincroniaPolicy().Plan(SnapshotOf(2)), varys::VarysPolicy().Plan(SnapshotOf(2))}) {
    for (size_t j = 0; j < 4; ++j) EXPECT_EQ(plan.jobs[j].paths, hashed.jobs[j].paths);
  }
}

TEST(SincroniaPolicyTest, KnowsMoreThanEachJobsOwnBottleneck) {
  // Jobs send from hosts 0..3 under leaf 0 to one under leaf 1 each: the uplink of the only spine carries all of them,
  // 0.2 + 0.3 + 0.3 s; job 0 also sends 0.35 s under its leaf. Varys sees bottlenecks .35+.2 (its port), .3, .3:
  // job 0 last. BSSI: uplink 0.8 s is the bottleneck, w/d = 5, 3.3, 3.3: job 2 last. Weights 1 - .2/.3 = 1/3, 0. Job
  // 0's port, .55 s, is now the greatest (uplink .5): job 0 is next to last.
  ExampleCluster cluster(MakeSmallClos(2, 4, 1));
  const auto bytes = [](double seconds) { return Bytes(seconds * kSecond); };
  cluster.AddJob(0, 1e15,
                 {{cluster.gpu(0), cluster.gpu(4), bytes(0.2), 0}, {cluster.gpu(0), cluster.gpu(3), bytes(0.35), 0}});
  cluster.AddJob(1, 1e15, {{cluster.gpu(1), cluster.gpu(5), bytes(0.3), 0}});
  cluster.AddJob(2, 1e15, {{cluster.gpu(2), cluster.gpu(6), bytes(0.3), 0}});
  EXPECT_THAT(RanksOf(varys::VarysPolicy().Plan(cluster.Snapshot())), ElementsAre(2, 0, 1));
  EXPECT_THAT(RanksOf(sincronia::SincroniaPolicy().Plan(cluster.Snapshot())), ElementsAre(1, 0, 2));
}

// Two leaves of two hosts, two spines.
TEST(TacclStarPolicyTest, TwoJobsAndTwoSpinesEndDisjoint) {
  ExampleCluster cluster(MakeSmallClos(2, 2, 2));
  for (uint32_t j = 0; j < 2; ++j) {
    cluster.AddJob(j, 1e15, {{cluster.gpu(j), cluster.gpu(2 + j), Bytes(kSecond), 0}});
  }
  for (uint64_t seed = 0; seed < 16; ++seed) {
    TrafficSnapshot snapshot = cluster.Snapshot();
    snapshot.hash_seed = seed;
    const TrafficPlan plan = taccl_star::TacclStarPolicy({}).Plan(snapshot);
    EXPECT_FALSE(Meet(cluster.fabric(), plan.jobs[0], plan.jobs[1])) << "seed " << seed;
  }
}

TEST(TacclStarPolicyTest, TheFirstToArriveChoosesFirstWhateverItsIntensity) {
  // The earlier job takes candidate 0.
  ExampleCluster cluster(MakeSmallClos(2, 2, 2));
  for (uint32_t j = 0; j < 2; ++j) {
    cluster.AddJob(j, j == 0 ? 1e18 : 1e12, {{cluster.gpu(j), cluster.gpu(2 + j), Bytes(kSecond), 0}});
  }
  const auto first_path = [&](uint32_t job) {
    model::Path path;
    cluster.router().AppendPath(cluster.gpu(job), cluster.gpu(2 + job), 0, &path);
    return path;
  };
  const TrafficPlan in_order = taccl_star::TacclStarPolicy({}).Plan(cluster.Snapshot());
  EXPECT_EQ(in_order.jobs[0].paths[0], first_path(0));
  EXPECT_NE(in_order.jobs[1].paths[0], first_path(1));
  cluster.SetArrivalOrder(0, 5);
  const TrafficPlan swapped = taccl_star::TacclStarPolicy({}).Plan(cluster.Snapshot());
  EXPECT_NE(swapped.jobs[0].paths[0], first_path(0));
  EXPECT_EQ(swapped.jobs[1].paths[0], first_path(1));
}

TEST(TacclStarPolicyTest, FarJobsComeFirstThenBigOnes) {
  // Job 0 stays under its leaf with ten times the bytes. Jobs 1 and 2 cross the spine: 2 and 3 times kSecond over four
  // network links each. Job 3 is as far and big as job 1.
  ExampleCluster cluster(MakeSmallClos(2, 5, 2));
  const auto flow = [&](uint32_t from, uint32_t to, double seconds) {
    return std::vector<model::FlowDemand>{{cluster.gpu(from), cluster.gpu(to), Bytes(seconds * kSecond), 0}};
  };
  cluster.AddJob(0, 1e15, flow(0, 4, 20));
  cluster.AddJob(1, 1e15, flow(1, 5, 2));
  cluster.AddJob(2, 1e15, flow(2, 6, 3));
  cluster.AddJob(3, 1e15, flow(3, 7, 2));
  TrafficSnapshot snapshot = cluster.Snapshot();
  snapshot.num_levels = 2;
  const TrafficPlan plan = taccl_star::TacclStarPolicy({}).Plan(snapshot);
  EXPECT_THAT(RanksOf(plan), ElementsAre(3, 1, 0, 2));
  EXPECT_THAT(LevelsOf(plan), ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(plan.jobs[2].reason, HasSubstr("sends 3e+11 byte hops as far as spines; rank 0 of 4, level 0 of 2"));
  EXPECT_THAT(plan.jobs[0].reason, HasSubstr("as far as its leaf"));
  taccl_star::TacclStarOptions top_ranks;
  top_ranks.levels = LevelRule::kTopRanks;
  EXPECT_THAT(LevelsOf(taccl_star::TacclStarPolicy(top_ranks).Plan(snapshot)), ElementsAre(1, 1, 0, 1));
}

}  // namespace
}  // namespace fairlead::traffic
