#include "traffic/crux/crux_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "base/random.h"
#include "traffic/plan_laws.h"
#include "traffic/traffic_example.h"

namespace fairlead::traffic::crux {
namespace {

using testing::HasSubstr;

// 0.1 s on a port of 200 Gb/s.
constexpr Bytes kTenthOfASecond(2.5e9);

// Two leaves of two hosts, two spines; two jobs, each from a host of leaf 0 to a host of leaf 1.
std::unique_ptr<ExampleCluster> TwoJobsTwoSpines() {
  auto cluster = std::make_unique<ExampleCluster>(MakeSmallClos(2, 2, 2));
  cluster->AddJob(0, 1e15, {{cluster->gpu(0), cluster->gpu(2), kTenthOfASecond, 0}});
  cluster->AddJob(1, 2e15, {{cluster->gpu(1), cluster->gpu(3), kTenthOfASecond, 0}});
  return cluster;
}

TEST(CruxPolicyTest, TwoJobsAndTwoSpinesEndDisjointWhereHashesCollide) {
  const auto cluster = TwoJobsTwoSpines();
  size_t num_collisions = 0;
  constexpr size_t kSeeds = 64;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    TrafficSnapshot snapshot = cluster->Snapshot();
    snapshot.hash_seed = seed;
    const TrafficPlan hashed = HashedPlan(snapshot);
    if (Meet(cluster->fabric(), hashed.jobs[0], hashed.jobs[1])) ++num_collisions;
    const TrafficPlan steered = CruxPolicy({}).Plan(snapshot);
    EXPECT_FALSE(Meet(cluster->fabric(), steered.jobs[0], steered.jobs[1])) << "seed " << seed;
  }
  // Each seed collides with probability 1/2: 32 +- 4 of 64; four standard deviations either way.
  EXPECT_GE(num_collisions, 16u);
  EXPECT_LE(num_collisions, 48u);
}

TEST(CruxPolicyTest, ThreeJobsOnTwoSpinesGetLevelsWhereTheyMeet) {
  ExampleCluster cluster(MakeSmallClos(2, 3, 2));
  for (uint32_t j = 0; j < 3; ++j) {
    cluster.AddJob(j, (j + 1) * 1e15, {{cluster.gpu(j), cluster.gpu(3 + j), kTenthOfASecond, 0}});
  }
  const TrafficPlan plan = CruxPolicy({}).Plan(cluster.Snapshot());
  // Equal times, intensities 1, 2, 3 e16: job 2 first, then job 1; the third has to join one of them: the tie goes to
  // index 0, where job 2 is. Both are as urgent as their intensities say, since the jobs are otherwise equal.
  EXPECT_EQ(plan.jobs[2].priority_rank, 0u);
  EXPECT_EQ(plan.jobs[1].priority_rank, 1u);
  EXPECT_EQ(plan.jobs[0].priority_rank, 2u);
  EXPECT_TRUE(Meet(cluster.fabric(), plan.jobs[0], plan.jobs[2]));
  EXPECT_FALSE(Meet(cluster.fabric(), plan.jobs[0], plan.jobs[1]));
  EXPECT_LT(plan.jobs[2].level, plan.jobs[0].level);
}

// Jobs 0 and 1 meet in the network, jobs 1 and 2 only on the PCIe links of a NIC, where two ports carry 50 GB/s
// together and its PCIe link 32 GB/s. Job 2 is a hundred times less intense than job 1 and must not pass it there.
TEST(CruxPolicyTest, JobsThatShareOnlyALinkInsideAHostKeepTheirOrder) {
  ExampleCluster cluster(MakeBondedClos());
  cluster.AddJob(0, 3e15, {{cluster.gpu(0), cluster.gpu(1), kTenthOfASecond, 0}});
  cluster.AddJob(1, 2e15, {{cluster.gpu(2), cluster.gpu(1, 1), kTenthOfASecond, 0}});
  cluster.AddJob(2, 2e13, {{cluster.gpu(2, 1), cluster.gpu(3), kTenthOfASecond, 0}});
  TrafficPlan in_force = HashedPlan(cluster.Snapshot());
  // Left ports for jobs 0 and 1, the right one for job 2.
  for (size_t job = 0; job < 3; ++job) {
    const model::FlowDemand& flow = cluster.iteration(job).flows[0];
    for (uint64_t i = 0; i < cluster.router().CountPaths(flow.source, flow.destination); ++i) {
      model::Path path;
      cluster.router().AppendPath(flow.source, flow.destination, i, &path);
      const bool is_left = std::any_of(path.begin(), path.end(), [&](LinkId link) {
        return cluster.fabric().NodeName(cluster.fabric().destination(link)) == "leaf0";
      });
      if (is_left == (job < 2)) in_force.jobs[job].paths[0] = path;
    }
  }
  cluster.Apply(in_force);
  const TrafficPlan plan = CruxPolicy(LevelsOnly({})).Plan(cluster.Snapshot());
  ASSERT_TRUE(Meet(cluster.fabric(), plan.jobs[0], plan.jobs[1]));
  ASSERT_TRUE(Meet(cluster.fabric(), plan.jobs[1], plan.jobs[2]));
  EXPECT_LT(plan.jobs[0].level, plan.jobs[1].level);
  EXPECT_LT(plan.jobs[1].level, plan.jobs[2].level);
}

TEST(CruxPolicyTest, ReasonsNameIntensityFactorRankAndLevel) {
  const auto cluster = TwoJobsTwoSpines();
  const TrafficPlan plan = CruxPolicy({}).Plan(cluster->Snapshot());
  // 2e15 FLOP / 0.1 s. The reference is job 0: equal traffic, lower id.
  EXPECT_THAT(plan.jobs[1].reason, HasSubstr("intensity 2e+16 FLOP/s (2e+15 FLOP per 0.1 s on h1/nic0->leaf0)"));
  EXPECT_THAT(plan.jobs[1].reason, HasSubstr("against job 0)"));
  EXPECT_THAT(plan.jobs[1].reason, HasSubstr("rank 0 of 2, level 0 of 8; 1 new paths"));
  EXPECT_THAT(plan.jobs[0].reason, HasSubstr("correction factor 1 (reference job)"));
}

TEST(CruxPolicyTest, JobsOffTheNetworkTakeNoPart) {
  ExampleCluster cluster(MakeSmallClos(2, 1, 2));
  cluster.AddJob(0, 1, {});
  cluster.AddJob(1, 1, {{cluster.gpu(0, 0), cluster.gpu(0, 1), kTenthOfASecond, 0}});
  cluster.AddJob(2, 1, {{cluster.gpu(0), cluster.gpu(1), kTenthOfASecond, 0}});
  const TrafficPlan plan = CruxPolicy({}).Plan(cluster.Snapshot());
  EXPECT_EQ(plan.jobs[0].level, 0u);
  EXPECT_THAT(plan.jobs[0].reason, HasSubstr("does not communicate"));
  EXPECT_EQ(plan.jobs[1].level, 0u);
  EXPECT_THAT(plan.jobs[1].reason, HasSubstr("never leaves NVLink"));
  EXPECT_EQ(plan.jobs[1].paths[0].size(), 2u);  // up to the NVSwitch and down
  EXPECT_THAT(plan.jobs[2].reason, HasSubstr("rank 0 of 1"));
}

TEST(CruxPolicyTest, AnEmptyClusterHasAnEmptyPlan) {
  const ExampleCluster cluster(MakeSmallClos(2, 1, 2));
  EXPECT_TRUE(CruxPolicy({}).Plan(cluster.Snapshot()).jobs.empty());
}

std::vector<CruxOptions> Variants() {
  std::vector<CruxOptions> variants(5);
  variants[1].select_paths = false;
  variants[1].compress = false;
  variants[2].compress = false;
  variants[3].paths.unit = PathUnit::kJob;
  variants[4].compression = CompressionOptions::Paper();
  variants[4].paths.hysteresis = 0.2;
  return variants;
}

TEST(CruxPolicyTest, PlansAreLegalBeforeAndAfterFailures) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    for (const CruxOptions& options : Variants()) {
      const auto cluster = DrawCluster(seed);
      const CruxPolicy policy(options);
      TrafficSnapshot snapshot = cluster->Snapshot();
      snapshot.num_levels = static_cast<uint32_t>(1 + seed % 5);
      const TrafficPlan before = policy.Plan(snapshot);
      ExpectLegal(*cluster, snapshot, policy, before);
      cluster->Apply(before);
      BreakAFifth(seed, cluster.get());
      snapshot = cluster->Snapshot();
      ExpectLegal(*cluster, snapshot, policy, policy.Plan(snapshot));
    }
  }
}

TEST(CruxPolicyTest, SameSnapshotSamePlan) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto cluster = DrawCluster(seed);
    const TrafficPlan first = CruxPolicy({}).Plan(cluster->Snapshot());
    const TrafficPlan second = CruxPolicy({}).Plan(cluster->Snapshot());
    for (size_t j = 0; j < first.jobs.size(); ++j) {
      EXPECT_EQ(first.jobs[j].paths, second.jobs[j].paths);
      EXPECT_EQ(first.jobs[j].level, second.jobs[j].level);
      EXPECT_EQ(first.jobs[j].reason, second.jobs[j].reason);
    }
  }
}

TEST(CruxPolicyTest, RenamingJobsInOrderChangesNothing) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto cluster = DrawCluster(seed);
    const auto renamed = DrawCluster(seed, 17);
    // Hashes depend on ids, so both start from the same paths in force.
    const TrafficPlan in_force = HashedPlan(cluster->Snapshot());
    cluster->Apply(in_force);
    renamed->Apply(in_force);
    const TrafficPlan before = CruxPolicy({}).Plan(cluster->Snapshot());
    const TrafficPlan after = CruxPolicy({}).Plan(renamed->Snapshot());
    for (size_t j = 0; j < before.jobs.size(); ++j) {
      EXPECT_EQ(before.jobs[j].paths, after.jobs[j].paths) << "seed " << seed;
      EXPECT_EQ(before.jobs[j].level, after.jobs[j].level) << "seed " << seed;
      EXPECT_EQ(before.jobs[j].priority_rank, after.jobs[j].priority_rank) << "seed " << seed;
    }
  }
}

TEST(CruxPolicyTest, VariantsAreFlags) {
  const auto cluster = DrawCluster(4);
  ASSERT_GE(cluster->Snapshot().jobs.size(), 3u);
  TrafficSnapshot snapshot = cluster->Snapshot();
  snapshot.num_levels = static_cast<uint32_t>(snapshot.jobs.size());
  const std::vector<CruxOptions> variants = Variants();
  const TrafficPlan hashed = HashedPlan(snapshot);
  const TrafficPlan priorities_only = CruxPolicy(variants[1]).Plan(snapshot);
  std::set<uint32_t> levels;
  size_t num_ranked = 0;
  for (size_t j = 0; j < hashed.jobs.size(); ++j) {
    EXPECT_EQ(priorities_only.jobs[j].paths, hashed.jobs[j].paths);
    EXPECT_EQ(priorities_only.jobs[j].level, priorities_only.jobs[j].priority_rank);
    if (priorities_only.jobs[j].reason.find("rank") == std::string::npos) continue;
    levels.insert(priorities_only.jobs[j].level);
    ++num_ranked;
  }
  EXPECT_EQ(levels.size(), num_ranked) << "one level for each job that takes part";
}

TEST(CruxPolicyTest, WithoutCompressionEveryJobHasItsOwnLevelOnAnyFabric) {
  const auto cluster = DrawCluster(4);
  TrafficSnapshot snapshot = cluster->Snapshot();
  snapshot.num_levels = 2;
  const auto num_jobs = static_cast<uint32_t>(snapshot.jobs.size());
  for (const CruxOptions& options : {PrioritiesOnly({}), PathsAndPriorities({})}) {
    const CruxPolicy policy(options);
    for (const JobPlan& job : policy.Plan(snapshot).jobs) EXPECT_EQ(job.level, job.priority_rank);
    EXPECT_EQ(policy.NumLevels(2, num_jobs), num_jobs);
    EXPECT_EQ(policy.NumLevels(64, num_jobs), 64u);
  }
  EXPECT_EQ(CruxPolicy({}).NumLevels(2, num_jobs), 2u);
}

TEST(CruxPolicyTest, FairnessPutsTheJobThatLosesMostFirst) {
  // Equal jobs of intensities 1 and 2 e16, factors 1: job 1 first. Mean 1.5e16. Job 0 has lost 80 % of its speed, job 1
  // nothing. x = 0.5: 0.5 + 0.5 * 0.8 * 1.5 = 1.1 against 1.0 e16, so job 0 comes first. x = 0.4: 0.6 + 0.48 = 1.08
  // against 1.2: it doesn't.
  const auto cluster = TwoJobsTwoSpines();
  cluster->SetSpeed(0, 0.2, Seconds(0));
  const auto rank_of_first = [&](double fairness) {
    CruxOptions options;
    options.correction.enabled = false;
    options.fairness = fairness;
    return CruxPolicy(options).Plan(cluster->Snapshot()).jobs[0].priority_rank;
  };
  EXPECT_EQ(rank_of_first(0), 1u);
  EXPECT_EQ(rank_of_first(0.4), 1u);
  EXPECT_EQ(rank_of_first(0.5), 0u);
  CruxOptions fair = Fair({});
  fair.correction.enabled = false;
  EXPECT_THAT(CruxPolicy(fair).Plan(cluster->Snapshot()).jobs[0].reason,
              HasSubstr(", 80 % of its speed lost: priority 1.1e+16 FLOP/s at fairness 0.5; rank 0 of 2"));
}

TEST(CruxPolicyTest, MoreLossNeverMakesAJobLessUrgent) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto cluster = DrawCluster(seed);
    const size_t num_jobs = cluster->Snapshot().jobs.size();
    if (num_jobs == 0) continue;
    Random random(seed);
    for (size_t j = 0; j < num_jobs; ++j) cluster->SetSpeed(j, random.Uniform(), Seconds(0));
    const size_t job = random.Below(num_jobs);
    uint32_t rank = static_cast<uint32_t>(num_jobs);
    for (const double speed : {1.0, 0.8, 0.5, 0.2, 0.0}) {
      cluster->SetSpeed(job, speed, Seconds(0));
      const uint32_t now = CruxPolicy(Fair({})).Plan(cluster->Snapshot()).jobs[job].priority_rank;
      EXPECT_LE(now, rank) << "seed " << seed << " speed " << speed;
      rank = now;
    }
  }
}

TEST(CruxPolicyTest, TheGuardPutsAJobThatIsTooFarBehindOnLevelZero) {
  // Four jobs through one spine: a chain of four, the least intense at the bottom of four levels.
  ExampleCluster cluster(MakeSmallClos(2, 4, 1));
  for (uint32_t j = 0; j < 4; ++j) {
    cluster.AddJob(j, (j + 1) * 1e15, {{cluster.gpu(j), cluster.gpu(4 + j), kTenthOfASecond, 0}});
  }
  const CruxPolicy policy(Guarded({}), "crux-guard");
  const auto plan_when_starved_for = [&](double seconds) {
    cluster.SetSpeed(0, seconds > 0 ? 0.05 : 1, Seconds(seconds));
    TrafficSnapshot snapshot = cluster.Snapshot();
    snapshot.num_levels = 4;
    return policy.Plan(snapshot).jobs[0];
  };
  EXPECT_EQ(plan_when_starved_for(0).level, 3u);
  EXPECT_EQ(plan_when_starved_for(20).level, 3u);
  EXPECT_EQ(plan_when_starved_for(20.1).level, 0u);
  EXPECT_EQ(plan_when_starved_for(1e12).level, 0u);
  EXPECT_EQ(plan_when_starved_for(180).priority_rank, 3u) << "the order stays";
  EXPECT_THAT(plan_when_starved_for(30).reason,
              HasSubstr("; lifted 3 levels: 30 s behind 10 % of its speed alone, guard 20 s"));
  EXPECT_EQ(CruxPolicy({}).Plan(cluster.Snapshot()).jobs[0].reason.find("lifted"), std::string::npos);
}

TEST(CruxPolicyTest, PoliciesThatUseSpeedsDeclareIt) {
  EXPECT_FALSE(CruxPolicy({}).NeedsSpeeds());
  EXPECT_TRUE(CruxPolicy(Guarded({})).NeedsSpeeds());
  EXPECT_TRUE(CruxPolicy(Fair({})).NeedsSpeeds());
}

TEST(CruxPolicyTest, FairnessOptionsOutOfRangeAreNamed) {
  CruxOptions options;
  options.fairness = 1.5;
  EXPECT_EQ(options.Validate(), InvalidArgument("crux: fairness: expected a fraction in [0, 1], found 1.5"));
  options = {};
  options.starvation_guard = Seconds(-1);
  EXPECT_EQ(options.Validate(), InvalidArgument("crux: starvation_guard: expected >= 0 s, found -1"));
}

TEST(CruxPolicyTest, OneCutOffJobWaitsAndIsReported) {
  const auto cluster = TwoJobsTwoSpines();
  cluster->Apply(CruxPolicy({}).Plan(cluster->Snapshot()));
  // The port of job 0's first host.
  const topology::Fabric& fabric = cluster->fabric();
  for (const LinkId link : fabric.links_from(fabric.node_of(fabric.nic_of(cluster->gpu(0))))) {
    if (topology::IsNetwork(fabric.tier(link))) cluster->SetHealth(link, 0);
  }
  const TrafficPlan plan = CruxPolicy({}).Plan(cluster->Snapshot());
  EXPECT_TRUE(plan.jobs[0].paths[0].empty());
  EXPECT_THAT(plan.jobs[0].reason, HasSubstr("no path left"));
  EXPECT_FALSE(plan.jobs[1].paths[0].empty());
}

TEST(CruxPolicyTest, AHalfDeadLinkIsAvoided) {
  const auto cluster = TwoJobsTwoSpines();
  const TrafficPlan before = CruxPolicy({}).Plan(cluster->Snapshot());
  // The more intense job 1 chose first. Its uplink loses nine tenths of its speed; it takes the other one.
  const topology::Fabric& fabric = cluster->fabric();
  for (const LinkId link : before.jobs[1].paths[0]) {
    if (fabric.tier(link) == topology::LinkTier::kLeafSpine) cluster->SetHealth(link, 0.1);
  }
  const TrafficPlan after = CruxPolicy({}).Plan(cluster->Snapshot());
  EXPECT_NE(after.jobs[1].paths, before.jobs[1].paths);
}

// With one flow per job and all network links equally fast, t_j doesn't depend on the path. Then a plan in force
// changes no input of the next one, which must be the same.
TEST(CruxPolicyTest, ReplanningAnUnchangedClusterMovesNothing) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    ExampleCluster cluster(MakeSmallClos(4, 4, 4));
    Random random(seed);
    for (uint32_t j = 0; j < 10; ++j) {
      const auto source = static_cast<uint32_t>(random.Below(32));
      const GpuId destination((source + 2 + random.Below(28)) % 32);
      cluster.AddJob(j, random.Uniform(1e14, 1e16),
                     {{GpuId(source), destination, Bytes(random.Uniform(1e8, 1e10)), 0}});
    }
    const TrafficPlan first = CruxPolicy({}).Plan(cluster.Snapshot());
    cluster.Apply(first);
    const TrafficPlan second = CruxPolicy({}).Plan(cluster.Snapshot());
    for (size_t j = 0; j < first.jobs.size(); ++j) {
      EXPECT_EQ(second.jobs[j].paths, first.jobs[j].paths) << "seed " << seed << " job " << j;
      EXPECT_EQ(second.jobs[j].level, first.jobs[j].level) << "seed " << seed << " job " << j;
      EXPECT_EQ(second.jobs[j].reason.find("changed"), std::string::npos) << second.jobs[j].reason;
    }
  }
}

}  // namespace
}  // namespace fairlead::traffic::crux
