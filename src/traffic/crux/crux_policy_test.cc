#include "traffic/crux/crux_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "base/random.h"
#include "traffic/traffic_example.h"

namespace fairlead::traffic::crux {
namespace {

using testing::HasSubstr;

// 0.1 s on a port of 200 Gb/s.
constexpr Bytes kTenthOfASecond(2.5e9);

std::set<LinkId> NetworkLinks(const topology::Fabric& fabric, const JobPlan& plan) {
  std::set<LinkId> links;
  for (const model::Path& path : plan.paths) {
    for (const LinkId link : path) {
      if (topology::IsNetwork(fabric.tier(link))) links.insert(link);
    }
  }
  return links;
}

bool Meet(const topology::Fabric& fabric, const JobPlan& a, const JobPlan& b) {
  const std::set<LinkId> of_a = NetworkLinks(fabric, a);
  const std::set<LinkId> of_b = NetworkLinks(fabric, b);
  return std::any_of(of_a.begin(), of_a.end(), [&](LinkId link) { return of_b.contains(link); });
}

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

// Random jobs on four leaves and four spines; seed decides all.
std::unique_ptr<ExampleCluster> DrawCluster(uint64_t seed, uint32_t id_step = 1) {
  auto cluster = std::make_unique<ExampleCluster>(MakeSmallClos(4, 4, 4));
  Random random(seed);
  const uint64_t num_jobs = random.Below(12);
  for (uint32_t j = 0; j < num_jobs; ++j) {
    std::vector<model::FlowDemand> flows;
    for (uint64_t f = 0; f < random.Below(6); ++f) {
      const auto source = static_cast<uint32_t>(random.Below(32));
      const auto destination = static_cast<uint32_t>((source + 1 + random.Below(31)) % 32);
      flows.push_back({GpuId(source), GpuId(destination), Bytes(random.Uniform(1e8, 1e10)), 0});
    }
    cluster->AddJob(j * id_step, random.Uniform(1e14, 1e16), flows);
  }
  return cluster;
}

void ExpectLegal(const ExampleCluster& cluster, const TrafficSnapshot& snapshot, const TrafficPlan& plan) {
  ASSERT_EQ(plan.jobs.size(), snapshot.jobs.size());
  for (size_t j = 0; j < plan.jobs.size(); ++j) {
    const JobPlan& mine = plan.jobs[j];
    EXPECT_EQ(mine.id, snapshot.jobs[j].id);
    EXPECT_LT(mine.level, snapshot.num_levels);
    EXPECT_FALSE(mine.reason.empty());
    const std::vector<model::FlowDemand>& flows = cluster.iteration(j).flows;
    ASSERT_EQ(mine.paths.size(), flows.size());
    for (size_t f = 0; f < flows.size(); ++f) {
      const uint64_t num_paths = cluster.router().CountPaths(flows[f].source, flows[f].destination);
      bool is_equal_cost = num_paths == 0 && mine.paths[f].empty();
      for (uint64_t index = 0; index < num_paths; ++index) {
        model::Path path;
        cluster.router().AppendPath(flows[f].source, flows[f].destination, index, &path);
        is_equal_cost = is_equal_cost || path == mine.paths[f];
      }
      EXPECT_TRUE(is_equal_cost) << "job " << j << " flow " << f;
    }
    for (const JobPlan& other : plan.jobs) {
      if (mine.priority_rank < other.priority_rank && Meet(cluster.fabric(), mine, other)) {
        EXPECT_LE(mine.level, other.level);
      }
    }
  }
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
      ExpectLegal(*cluster, snapshot, before);
      cluster->Apply(before);
      // A fifth of all cables between switches and to hosts dies.
      Random random(seed);
      for (uint32_t link = 0; link < cluster->fabric().num_links(); ++link) {
        if (!topology::IsNetwork(cluster->fabric().tier(LinkId(link)))) continue;
        if (random.Uniform() < 0.2) cluster->SetHealth(LinkId(link), 0);
      }
      snapshot = cluster->Snapshot();
      ExpectLegal(*cluster, snapshot, policy.Plan(snapshot));
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
  snapshot.num_levels = 2;
  for (const JobPlan& job : CruxPolicy(variants[1]).Plan(snapshot).jobs) {
    EXPECT_EQ(job.level, std::min(job.priority_rank, 1u));
  }
}

TEST(CruxPolicyTest, OneCutOffJobWaitsAndSaysSo) {
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
