#include "scheduling/equal_placements.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/random.h"
#include "scheduling/placement_example.h"

namespace fairlead::scheduling {
namespace {

std::vector<HostId> HostsIn(const topology::Fabric& fabric, const model::Placement& placement) {
  std::vector<HostId> hosts;
  for (const GpuId gpu : placement.gpus) {
    if (hosts.empty() || hosts.back() != fabric.host_of(gpu)) hosts.push_back(fabric.host_of(gpu));
  }
  return hosts;
}

std::multiset<uint32_t> FreeGpus(const GpuPool& pool, const model::Placement& placement) {
  std::multiset<uint32_t> free;
  for (const HostId host : HostsIn(pool.fabric(), placement)) free.insert(pool.num_free(host));
  return free;
}

TEST(EqualPlacementsTest, TwoHostsOfOneLeafMayHaveEachOfEightLeaves) {
  const topology::Fabric fabric = TwoPods();
  const GpuPool pool(fabric);
  const auto policy = Create("locality-first");
  const auto offered = policy->Offer({&pool, {}}, JobOf(0, 16), 100);
  // Both hosts of a leaf of two: no other choice in it.
  EXPECT_EQ(offered.size(), 8u);
  EXPECT_EQ(offered.front(), *policy->Place(pool, JobOf(0, 16)));
  std::set<uint32_t> leaves;
  for (const model::Placement& placement : offered) {
    ASSERT_EQ(LeafGroups(fabric, placement).size(), 1u);
    leaves.insert(*LeafGroups(fabric, placement).begin());
  }
  EXPECT_EQ(leaves.size(), 8u);
}

TEST(EqualPlacementsTest, ThreeHostsStayInTwoLeavesOfOnePod) {
  const topology::Fabric fabric = TwoPods();
  const GpuPool pool(fabric);
  // A pair of a pod's four leaves is one of six; the leaf with one host is either, and that host either: 2 * 6 * 2 * 2.
  const auto offered = Create("locality-first")->Offer({&pool, {}}, JobOf(0, 24), 40);
  EXPECT_EQ(offered.size(), 40u);
  for (const model::Placement& placement : offered) {
    EXPECT_EQ(LeafGroups(fabric, placement).size(), 2u);
    EXPECT_EQ(Pods(fabric, placement).size(), 1u);
  }
}

TEST(EqualPlacementsTest, AFullClusterLeavesNoChoice) {
  const topology::Fabric fabric = TwoPods();
  GpuPool pool(fabric);
  const auto policy = Create("locality-first");
  EXPECT_EQ(policy->Offer({&pool, {}}, JobOf(0, 128), 10).size(), 1u);
  pool.Take(*policy->Place(pool, JobOf(0, 112)));
  EXPECT_EQ(policy->Offer({&pool, {}}, JobOf(1, 16), 10).size(), 1u) << "two hosts are left";
  EXPECT_TRUE(policy->Offer({&pool, {}}, JobOf(1, 24), 10).empty()) << "three do not fit";
}

TEST(EqualPlacementsTest, SmallJobsBreakNoWholeHost) {
  const topology::Fabric fabric = TwoPods();
  GpuPool pool(fabric);
  pool.Take(PlaceOnHosts(pool, JobOf(0, 4, 4), {HostId(3)}));
  pool.Take(PlaceOnHosts(pool, JobOf(1, 4, 4), {HostId(12)}));
  const auto offered = Create("locality-first")->Offer({&pool, {}}, JobOf(2, 2, 2), 10);
  ASSERT_EQ(offered.size(), 2u);
  EXPECT_EQ(HostsIn(fabric, offered[0]), std::vector{HostId(3)});
  EXPECT_EQ(HostsIn(fabric, offered[1]), std::vector{HostId(12)});
}

TEST(EqualPlacementsTest, OthersOfferOnlyTheirOwn) {
  const topology::Fabric fabric = TwoPods();
  const GpuPool pool(fabric);
  EXPECT_EQ(OfferingPolicyNames(), (std::vector<std::string_view>{"locality-first", "random"}));
  for (const std::string_view name : {"hived", "muri"}) {
    const auto offered = Create(name)->Offer({&pool, {}}, JobOf(0, 16), 10);
    ASSERT_EQ(offered.size(), 1u);
    EXPECT_EQ(offered[0], *Create(name)->Place(pool, JobOf(0, 16)));
  }
}

// On clusters in use: all that is promised, by what seed, and what a choice of one is.
TEST(EqualPlacementsTest, RandomClustersKeepThePromises) {
  const topology::Fabric fabric = TwoPods();
  Random random(3);
  size_t num_offers = 0;
  for (int trial = 0; trial < 300; ++trial) {
    GpuPool pool(fabric);
    for (uint32_t j = 0; j < random.Below(12); ++j) {
      const auto per_host = static_cast<uint32_t>(1 + random.Below(8));
      const auto gpus = static_cast<uint32_t>(per_host * (1 + random.Below(2)));
      if (auto placed = Create("random", trial)->Place(pool, JobOf(j, gpus, per_host))) pool.Take(*placed);
    }
    const auto per_host = static_cast<uint32_t>(1 + random.Below(8));
    const model::Job job = JobOf(99, static_cast<uint32_t>(1 + random.Below(uint64_t{7} * per_host)), per_host);
    for (const std::string_view name : OfferingPolicyNames()) {
      SCOPED_TRACE(std::string(name) + " in trial " + std::to_string(trial));
      const auto policy = Create(name, 5);
      const auto own = policy->Place(pool, job);
      const auto offered = policy->Offer({&pool, {}}, job, 10);
      ASSERT_EQ(offered.empty(), !own.has_value());
      if (!own) continue;
      EXPECT_EQ(offered, policy->Offer({&pool, {}}, job, 10));
      EXPECT_EQ(offered.front(), *own);
      EXPECT_EQ(policy->Offer({&pool, {}}, job, 1), std::vector{*own});
      num_offers += offered.size();
      for (size_t i = 0; i < offered.size(); ++i) {
        EXPECT_EQ(std::count(offered.begin(), offered.end(), offered[i]), 1);
        EXPECT_EQ(std::set<GpuId>(offered[i].gpus.begin(), offered[i].gpus.end()).size(), job.num_gpus);
        for (const GpuId gpu : offered[i].gpus) EXPECT_TRUE(pool.is_free(gpu));
        if (name == "random") continue;
        EXPECT_EQ(FreeGpus(pool, offered[i]), FreeGpus(pool, *own));
        EXPECT_EQ(LeafGroups(fabric, offered[i]).size(), LeafGroups(fabric, *own).size());
        EXPECT_EQ(Pods(fabric, offered[i]).size(), Pods(fabric, *own).size());
      }
    }
  }
  EXPECT_GT(num_offers, 2000u) << "a choice of one keeps every promise";
}

TEST(EqualPlacementsTest, ThePlacementSeedDecides) {
  const topology::Fabric fabric = TwoPods();
  const GpuPool pool(fabric);
  for (const std::string_view name : OfferingPolicyNames()) {
    const auto of_seed = [&](uint64_t seed) { return Create(name, seed)->Offer({&pool, {}}, JobOf(0, 24), 5); };
    EXPECT_EQ(of_seed(1), of_seed(1));
    EXPECT_NE(of_seed(1), of_seed(2));
  }
}

}  // namespace
}  // namespace fairlead::scheduling
