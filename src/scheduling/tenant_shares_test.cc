// Shares of tenants: worked examples, the definition of max-min fairness, and law L6 under every policy.
#include "scheduling/tenant_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "scheduling/allocation_example.h"
#include "scheduling/allocation_registry.h"

namespace fairlead::scheduling {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<uint64_t> GpuShares(uint64_t total, const std::vector<TenantDemand>& tenants) {
  std::vector<uint64_t> gpus;
  for (const Resources& share : ShareByWeight({total, 0}, tenants)) gpus.push_back(share.num_gpus);
  return gpus;
}

// Of the specification. The level is 18 a weight: 36 and 18, and the second has all that it wants.
TEST(ShareByWeightTest, SixtyFourGpusWeightsTwoOneOne) {
  EXPECT_THAT(GpuShares(64, {{{40, 0}, 2, 0}, {{10, 0}, 1, 0}, {{30, 0}, 1, 0}}), ElementsAre(36, 10, 18));
}

// Ghodsi et al., NSDI 2011, with GPUs for CPUs and cores for memory: 9 and 18, tasks of (1, 4) and (3, 1): three of the
// one and two of the other, two thirds of a resource each.
TEST(ShareByWeightTest, TheExampleOfDominantResourceFairness) {
  const std::vector<Resources> shares = ShareByWeight({9, 18}, {{{9, 36}, 1, 0}, {{27, 9}, 1, 0}});
  EXPECT_THAT(shares, ElementsAre(Resources{3, 12}, Resources{6, 2}));
}

// 64 GPUs by weights 3 and 1 are 48 and 16; the second is guaranteed 24, if it has jobs for them.
TEST(ShareByWeightTest, AGuaranteeComesFirst) {
  EXPECT_THAT(GpuShares(64, {{{64, 0}, 3, 0}, {{64, 0}, 1, 24}}), ElementsAre(40, 24));
  EXPECT_THAT(GpuShares(64, {{{64, 0}, 3, 0}, {{10, 0}, 1, 24}}), ElementsAre(54, 10));
  // It does not come on top: a fair share that is larger anyway stays what it is.
  EXPECT_THAT(GpuShares(64, {{{64, 0}, 3, 40}, {{64, 0}, 1, 0}}), ElementsAre(48, 16));
  // More than there are: two thirds and a third of what is promised.
  EXPECT_THAT(GpuShares(60, {{{64, 0}, 1, 60}, {{64, 0}, 1, 30}}), ElementsAre(40, 20));
}

TEST(ShareByWeightTest, NothingAndNobody) {
  EXPECT_TRUE(ShareByWeight({64, 0}, {}).empty());
  EXPECT_THAT(GpuShares(0, {{{5, 0}, 1, 2}}), ElementsAre(0));
  EXPECT_THAT(GpuShares(64, {{{0, 0}, 1, 5}, {{100, 0}, 1, 0}}), ElementsAre(0, 64));
}

// The definition, on drawn tenants: nothing is left while somebody wants more; and who has less than he wants has at
// most one GPU less by weight than anybody whose guarantee does not explain it.
TEST(ShareByWeightTest, NobodyCanGetMoreWithoutTakingFromAPoorerOne) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const uint64_t total = 1 + random.Below(200);
    std::vector<TenantDemand> tenants(1 + random.Below(6));
    uint64_t promised = 0, wanted = 0;
    for (TenantDemand& tenant : tenants) {
      tenant.demand.num_gpus = random.Below(total + 1);
      tenant.weight = static_cast<double>(1 + random.Below(5));
      tenant.guaranteed_gpus = random.Below(total / tenants.size() + 1);
      promised += tenant.guaranteed_gpus;
      wanted += tenant.demand.num_gpus;
    }
    ASSERT_LE(promised, total);
    const std::vector<uint64_t> shares = GpuShares(total, tenants);
    uint64_t given = 0;
    for (size_t i = 0; i < tenants.size(); ++i) {
      given += shares[i];
      EXPECT_LE(shares[i], tenants[i].demand.num_gpus);
      EXPECT_GE(shares[i], std::min(tenants[i].demand.num_gpus, tenants[i].guaranteed_gpus));
    }
    EXPECT_EQ(given, std::min(total, wanted));
    for (size_t poor = 0; poor < tenants.size(); ++poor) {
      if (shares[poor] >= tenants[poor].demand.num_gpus) continue;
      for (size_t rich = 0; rich < tenants.size(); ++rich) {
        if (shares[rich] <= tenants[rich].guaranteed_gpus) continue;
        const double poor_level = static_cast<double>(shares[poor] + 1) / tenants[poor].weight;
        const double rich_level = (static_cast<double>(shares[rich]) - 1) / tenants[rich].weight;
        EXPECT_LE(rich_level, poor_level + 1e-9) << rich << " over " << poor;
      }
    }
  }
}

constexpr std::array<std::string_view, 3> kNames = {"a", "b", "c"};

class TenantSharesTest : public testing::TestWithParam<std::string_view> {
 protected:
  static std::unique_ptr<AllocationPolicy> Create(std::vector<Tenant> tenants) {
    return ShareAmongTenants(CreateAllocationPolicy(GetParam(), 1).value(), std::move(tenants)).value();
  }
  static std::map<std::string_view, uint64_t> GpusByTenant(const AllocationSnapshot& snapshot,
                                                           const AllocationPlan& plan) {
    std::map<std::string_view, uint64_t> gpus;
    for (size_t j = 0; j < plan.jobs.size(); ++j) gpus[snapshot.jobs[j].tenant] += plan.jobs[j].resources.num_gpus;
    return gpus;
  }
};

// Many jobs of one GPU, so that any share can be used: it is the one of the specification.
TEST_P(TenantSharesTest, TheWorkedExample) {
  const auto policy = Create({{"a", 2, 0}});
  ExampleSnapshot example(16, 4);
  for (const auto& [tenant, count] : std::map<std::string_view, int>{{"a", 40}, {"b", 10}, {"c", 30}}) {
    for (int i = 0; i < count; ++i) example.AddJob(1, 1, 1000).tenant = tenant;
  }
  for (int round = 0; round < 4; ++round) {
    const AllocationPlan plan = policy->Decide(example.snapshot).value();
    ExpectLegal(example.snapshot, plan);
    EXPECT_EQ(GpusByTenant(example.snapshot, plan),
              (std::map<std::string_view, uint64_t>{{"a", 36}, {"b", 10}, {"c", 18}}));
    example.Apply(plan, 60);
  }
}

// b has no jobs, and a has borrowed the whole cluster. Once b has jobs, it gets what it is guaranteed at once.
TEST_P(TenantSharesTest, WhatIsBorrowedComesBackAtOnce) {
  const auto policy = Create({{"a", 1, 0}, {"b", 1, 12}});
  ExampleSnapshot example(4, 4);
  for (int i = 0; i < 20; ++i) example.AddJob(1, 1, 1e6).tenant = "a";
  const AllocationPlan before = policy->Decide(example.snapshot).value();
  EXPECT_EQ(GpusByTenant(example.snapshot, before)["a"], 16u);
  example.Apply(before, 5000);
  for (int i = 0; i < 20; ++i) example.AddJob(1, 1, 1e6).tenant = "b";
  const AllocationPlan after = policy->Decide(example.snapshot).value();
  ExpectLegal(example.snapshot, after);
  EXPECT_EQ(GpusByTenant(example.snapshot, after)["b"], 12u);
  EXPECT_EQ(GpusByTenant(example.snapshot, after)["a"], 4u);
}

// Laws 1 and L6 on drawn jobs of three tenants, over some rounds: plans fit, and no tenant that has less than its quota
// waits with a job that fits into the rest of it.
TEST_P(TenantSharesTest, ATenantBelowItsQuotaGetsGpusAtOnce) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    ExampleSnapshot example = DrawSnapshot(3 * seed + 1);  // without cores
    Random random(seed);
    const uint64_t total = TotalCapacity(example.snapshot).num_gpus;
    std::vector<Tenant> tenants;
    for (const std::string_view name : kNames) {
      tenants.push_back(
          {std::string(name), random.Uniform(0.5, 4), static_cast<uint32_t>(random.Below(total / 3 + 1))});
    }
    for (AllocationJob& job : example.snapshot.jobs) job.tenant = kNames[random.Below(kNames.size())];
    const auto policy = Create(tenants);
    for (int round = 0; round < 4; ++round) {
      const AllocationPlan plan = policy->Decide(example.snapshot).value();
      ExpectLegal(example.snapshot, plan);
      auto gpus = GpusByTenant(example.snapshot, plan);
      for (size_t j = 0; j < plan.jobs.size(); ++j) {
        const AllocationJob& job = example.snapshot.jobs[j];
        // Strict order, powers of two, and sizes that change by single units leave GPUs free in a cluster, too.
        const bool leaves_gpus = GetParam() == "fcfs" || GetParam() == "sia" || GetParam() == "aiturbo-literal";
        if (!plan.jobs[j].nodes.empty() || leaves_gpus) continue;
        const auto tenant = std::ranges::find(tenants, job.tenant, &Tenant::name);
        EXPECT_GT(gpus[job.tenant] + RequestedSize(job).num_gpus, tenant->guaranteed_gpus)
            << "seed " << seed << " round " << round << " job " << j << " of " << job.tenant;
      }
      example.Apply(plan, 1000);
    }
  }
}

TEST_P(TenantSharesTest, OneTenantIsThePolicyAlone) {
  const auto alone = CreateAllocationPolicy(GetParam(), 1).value();
  const auto policy = Create({});
  for (uint64_t seed = 0; seed < 10; ++seed) {
    ExampleSnapshot example = DrawSnapshot(seed);
    EXPECT_EQ(GpusOf(policy->Decide(example.snapshot).value()), GpusOf(alone->Decide(example.snapshot).value()));
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, TenantSharesTest, testing::ValuesIn(AllocationPolicyNames()),
                         [](const auto& param_info) {
                           std::string name(param_info.param);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(ShareAmongTenantsTest, BadInputIsRefused) {
  const auto message = [](std::vector<Tenant> tenants) {
    return ShareAmongTenants(CreateAllocationPolicy("fcfs", 1).value(), std::move(tenants)).status().message();
  };
  EXPECT_THAT(message({{"a", 0, 0}}), HasSubstr("tenant a: weight is 0; expected a number above 0"));
  EXPECT_THAT(message({{"a", 1, 0}, {"a", 2, 0}}), HasSubstr("tenant a: appears twice"));
}

}  // namespace
}  // namespace fairlead::scheduling
