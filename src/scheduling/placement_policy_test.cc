#include "scheduling/placement_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/random.h"
#include "scheduling/placement_example.h"

namespace fairlead::scheduling {
namespace {

using ::testing::HasSubstr;

TEST(LocalityFirstTest, KeepsAJobUnderOneLeafThenInOnePod) {
  const topology::Fabric fabric = TwoPods();
  GpuPool pool(fabric);
  const auto policy = Create("locality-first");
  // 16 GPUs are two hosts: one leaf. 32 are four hosts: two leaves of one pod. 80 are ten: more than a pod's eight.
  EXPECT_EQ(LeafGroups(fabric, *policy->Place(pool, JobOf(0, 16))).size(), 1u);
  const auto four_hosts = policy->Place(pool, JobOf(1, 32));
  EXPECT_EQ(LeafGroups(fabric, *four_hosts).size(), 2u);
  EXPECT_EQ(Pods(fabric, *four_hosts).size(), 1u);
  const auto ten_hosts = policy->Place(pool, JobOf(2, 80));
  EXPECT_EQ(LeafGroups(fabric, *ten_hosts).size(), 5u);
}

TEST(LocalityFirstTest, FillsStartedLeavesBeforeBreakingWholeOnes) {
  const topology::Fabric fabric = TwoPods();
  GpuPool pool(fabric);
  const auto policy = Create("locality-first");
  const auto first = policy->Place(pool, JobOf(0, 8));
  pool.Take(*first);
  // The second single-host job goes beside the first, which leaves seven leaves whole.
  const auto second = policy->Place(pool, JobOf(1, 8));
  EXPECT_EQ(LeafGroups(fabric, *first), LeafGroups(fabric, *second));
  // Part of a host: the started host first.
  pool.Take(*second);
  const auto third = policy->Place(pool, JobOf(2, 2, 2));
  pool.Take(*third);
  const auto fourth = policy->Place(pool, JobOf(3, 3, 3));
  EXPECT_EQ(fabric.host_of(third->gpus[0]), fabric.host_of(fourth->gpus[0]));
}

TEST(LocalityFirstTest, SmallJobsFillStartedHostsBeforeTheyBreakWholeOnes) {
  const topology::Fabric fabric = TwoPods();
  GpuPool pool(fabric);
  const auto policy = Create("locality-first");
  // Leaf 0: host 0 taken, host 1 whole. Leaf 1: host 2 with 3 GPUs taken, host 3 whole. The smallest group that fits is
  // leaf 0, but a job of 2 belongs on host 2.
  pool.Take(PlaceOnHosts(pool, JobOf(0, 8), {HostId(0)}));
  pool.Take(PlaceOnHosts(pool, JobOf(1, 3, 3), {HostId(2)}));
  EXPECT_EQ(fabric.host_of(policy->Place(pool, JobOf(2, 2, 2))->gpus[0]), HostId(2));
  // A job of 6 does not fit there: leaf 0 is the group that is started.
  EXPECT_EQ(fabric.host_of(policy->Place(pool, JobOf(3, 6, 6))->gpus[0]), HostId(1));
}

TEST(PlacementTest, RefusesWhatDoesNotFit) {
  const topology::Fabric fabric = TwoPods();
  for (std::string_view name : PlacementPolicyNames()) {
    GpuPool pool(fabric);
    const auto policy = Create(name);
    EXPECT_FALSE(policy->Place(pool, JobOf(0, 136)).has_value());
    EXPECT_FALSE(policy->Place(pool, JobOf(0, 9, 9)).has_value()) << "no host has nine GPUs";
    const auto all = policy->Place(pool, JobOf(0, 128));
    ASSERT_TRUE(all.has_value());
    pool.Take(*all);
    EXPECT_FALSE(policy->Place(pool, JobOf(1, 1)).has_value());
    pool.Release(*all);
    EXPECT_TRUE(policy->Place(pool, JobOf(1, 1)).has_value());
  }
}

TEST(PlacementTest, RandomChurnNeverGivesAGpuTwice) {
  const topology::Fabric fabric = TwoPods();
  for (std::string_view name : PlacementPolicyNames()) {
    GpuPool pool(fabric);
    const auto policy = Create(name);
    Random random(7);
    std::vector<model::Placement> running;
    for (uint32_t step = 0; step < 500; ++step) {
      const auto gpus = static_cast<uint32_t>(1 + random.Below(40));
      const auto job = JobOf(step, gpus, std::min<uint32_t>(8, gpus));
      if (auto placement = policy->Place(pool, job)) {
        ASSERT_EQ(placement->gpus.size(), gpus);
        pool.Take(*placement);  // checks that every GPU is free
        running.push_back(std::move(*placement));
      }
      if (!running.empty() && random.Below(2) == 0) {
        const size_t victim = random.Below(running.size());
        pool.Release(running[victim]);
        running.erase(running.begin() + static_cast<ptrdiff_t>(victim));
      }
    }
    for (const auto& placement : running) pool.Release(placement);
    EXPECT_EQ(pool.num_free(), fabric.num_gpus());
  }
}

TEST(RandomPlacementTest, DependsOnSeedAndJobOnly) {
  const topology::Fabric fabric = TwoPods();
  GpuPool pool(fabric);
  EXPECT_EQ(Create("random", 1)->Place(pool, JobOf(3, 32)), Create("random", 1)->Place(pool, JobOf(3, 32)));
  EXPECT_NE(Create("random", 1)->Place(pool, JobOf(3, 32)), Create("random", 2)->Place(pool, JobOf(3, 32)));
  EXPECT_NE(Create("random", 1)->Place(pool, JobOf(3, 32)), Create("random", 1)->Place(pool, JobOf(4, 32)));
}

TEST(PlacementTest, RanksOfAHostAreConsecutiveAndAsManyAsAskedFor) {
  const topology::Fabric fabric = TwoPods();
  for (std::string_view name : PlacementPolicyNames()) {
    const auto policy = Create(name);
    for (uint32_t gpus = 1; gpus <= 40; ++gpus) {
      for (uint32_t per_host = 1; per_host <= 8; ++per_host) {
        const model::Job job = JobOf(gpus, gpus, per_host);
        const auto placement = policy->Place(GpuPool(fabric), job);
        if (NumHosts(job) > 16) {
          EXPECT_FALSE(placement.has_value());
          continue;
        }
        ASSERT_TRUE(placement.has_value());
        std::set<HostId> seen;
        for (uint32_t host = 0, rank = 0; host < NumHosts(job); ++host) {
          const HostId first = fabric.host_of(placement->gpus[rank]);
          ASSERT_TRUE(seen.insert(first).second) << name;
          for (uint32_t i = 0; i < RanksOnHost(job, host); ++i, ++rank) {
            ASSERT_EQ(fabric.host_of(placement->gpus[rank]), first) << name;
          }
        }
      }
    }
  }
}

// Jobs wait for GPUs, not for policies: a job that finds no room has none.
TEST(PlacementTest, AllPoliciesAgreeOnWhatFits) {
  const topology::Fabric fabric = TwoPods();
  Random random(11);
  for (int trial = 0; trial < 300; ++trial) {
    GpuPool pool(fabric);
    model::Placement taken;
    for (uint32_t gpu = 0; gpu < 128; ++gpu) {
      if (random.Below(100) < 20 + 70 * static_cast<uint64_t>(trial % 2)) taken.gpus.emplace_back(gpu);
    }
    pool.Take(taken);
    const auto gpus = static_cast<uint32_t>(1 + random.Below(40));
    const model::Job job = JobOf(1, gpus, static_cast<uint32_t>(1 + random.Below(8)));
    const bool fits = Create("random")->Place(pool, job).has_value();
    for (std::string_view name : PlacementPolicyNames()) {
      const auto placement = Create(name)->Place(pool, job);
      ASSERT_EQ(placement.has_value(), fits) << name;
      if (placement) pool.Take(*placement);  // checks that every GPU is free
      if (placement) pool.Release(*placement);
    }
  }
}

TEST(PlacementRegistryTest, UnknownNameListsTheKnownOnes) {
  EXPECT_THAT(CreatePlacementPolicy("best", 1).status().message(), HasSubstr("locality-first, random"));
}

}  // namespace
}  // namespace fairlead::scheduling
