// The promises of allocation_policy.h, for every registered policy on drawn clusters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <span>
#include <string>

#include "scheduling/allocation_example.h"
#include "scheduling/allocation_registry.h"
#include "scheduling/plan_assembly.h"

namespace fairlead::scheduling {
namespace {

using testing::HasSubstr;

constexpr uint64_t kNumSeeds = 60;

class AllocationLawsTest : public testing::TestWithParam<std::string_view> {
 protected:
  AllocationLawsTest() : policy_(CreateAllocationPolicy(GetParam(), 1).value()) {}

  AllocationPlan Decide(const AllocationSnapshot& snapshot) const {
    auto plan = policy_->Decide(snapshot);
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    return std::move(plan).value();
  }

  const std::unique_ptr<AllocationPolicy> policy_;
};

// Also when jobs run already, and when a node is lost under them.
TEST_P(AllocationLawsTest, PlansFit) {
  for (uint64_t seed = 0; seed < kNumSeeds; ++seed) {
    ExampleSnapshot example = DrawSnapshot(seed);
    for (int round = 0; round < 6; ++round) {
      const AllocationPlan plan = Decide(example.snapshot);
      ExpectLegal(example.snapshot, plan);
      example.Apply(plan, 200);
      if (round == 3) example.snapshot.nodes[HostId(0)] = {};
    }
  }
}

TEST_P(AllocationLawsTest, SameSnapshotSamePlan) {
  for (uint64_t seed = 0; seed < kNumSeeds; ++seed) {
    ExampleSnapshot example = DrawSnapshot(seed);
    example.Apply(Decide(example.snapshot), 500);
    const AllocationPlan first = Decide(example.snapshot);
    const AllocationPlan second = CreateAllocationPolicy(GetParam(), 1).value()->Decide(example.snapshot).value();
    for (size_t j = 0; j < first.jobs.size(); ++j) {
      EXPECT_EQ(first.jobs[j].nodes, second.jobs[j].nodes);
      EXPECT_EQ(first.jobs[j].memory, second.jobs[j].memory);
    }
  }
}

// Jobs in another order in the snapshot get the same: ids and submissions are what counts.
TEST_P(AllocationLawsTest, TheOrderInTheSnapshotDoesNotMatter) {
  if (GetParam() == "pollux")
    GTEST_SKIP() << "draws pairs of jobs by their order of submission; sums may differ in the last bit";
  for (uint64_t seed = 0; seed < kNumSeeds; ++seed) {
    ExampleSnapshot example = DrawSnapshot(seed);
    example.Apply(Decide(example.snapshot), 500);
    const AllocationPlan before = Decide(example.snapshot);
    std::ranges::reverse(example.snapshot.jobs);
    const AllocationPlan after = Decide(example.snapshot);
    const size_t n = before.jobs.size();
    for (size_t j = 0; j < n; ++j) EXPECT_EQ(before.jobs[j].nodes, after.jobs[n - 1 - j].nodes) << "seed " << seed;
  }
}

TEST_P(AllocationLawsTest, NoJobsNoGpusNoTrouble) {
  ExampleSnapshot empty;
  EXPECT_TRUE(Decide(empty.snapshot).jobs.empty());
  ExampleSnapshot dark(2, 0, 0);
  dark.AddJob(4, 1, 100);
  const AllocationPlan plan = Decide(dark.snapshot);
  EXPECT_TRUE(plan.jobs[0].nodes.empty());
  EXPECT_EQ(plan.jobs[0].reason.cause, PendingCause::kTooLarge);
}

// Alone in a cluster, a job of parameter servers runs in any configuration that fits into it: also one of a GPU and
// more cores than a node has. More servers help so much that policies that size jobs take all that there are.
TEST_P(AllocationLawsTest, AJobOfServersAloneRuns) {
  PsWorkerJob servers;
  servers.limits.max = {.num_ps = 10, .num_workers = 1, .cores_per_ps = 5, .cores_per_worker = 5, .num_gpus = 1};
  servers.config = {.num_ps = 4, .num_workers = 1, .cores_per_ps = 5, .cores_per_worker = 5, .num_gpus = 1};
  servers.iteration_s = [](const PsWorkerConfig& c) {
    return 1.0 / c.num_ps + 1.0 / c.cores_per_ps + 10.0 / (1 + c.num_gpus);
  };
  ExampleSnapshot example(4, 4, 16);
  example.AddJobWith({{1, 25, servers.iteration_s(servers.config)}}, 5000).ps_worker = &servers;
  for (int round = 0; round < 5; ++round) {
    const AllocationPlan plan = Decide(example.snapshot);
    ExpectLegal(example.snapshot, plan);
    EXPECT_FALSE(plan.jobs[0].nodes.empty()) << "round " << round;
    if (plan.jobs[0].config) servers.config = *plan.jobs[0].config;
    example.Apply(plan, 500);
  }
}

// A job that never fits is rejected, and holds up no other.
TEST_P(AllocationLawsTest, AJobLargerThanTheClusterWaitsAlone) {
  ExampleSnapshot example(1, 4);
  example.AddJobWith({{100, 0, 1.0}}, 50);
  example.AddJob(2, 1, 100);
  const AllocationPlan plan = Decide(example.snapshot);
  EXPECT_EQ(plan.jobs[0].reason.cause, PendingCause::kTooLarge);
  EXPECT_GT(plan.jobs[1].resources.num_gpus, 0u);
}

// Law 10, for jobs without cores: no GPU is free while a waiting job would fit at its smallest size (those that resize
// jobs), or as it asks (those that don't). Strict order is the exception.
TEST_P(AllocationLawsTest, NothingIsFreeWhileAJobCouldUseIt) {
  if (GetParam() == "fcfs") GTEST_SKIP() << "strict order leaves GPUs free";
  if (GetParam() == "sia") GTEST_SKIP() << "sizes are powers of two, and twice of what a job has had at most";
  for (uint64_t seed = 0; seed < kNumSeeds; ++seed) {
    ExampleSnapshot example = DrawSnapshot(seed * 3 + 1);
    const AllocationPlan plan = Decide(example.snapshot);
    uint64_t left = TotalCapacity(example.snapshot).num_gpus;
    for (const uint64_t gpus : GpusOf(plan)) left -= gpus;
    for (size_t j = 0; j < plan.jobs.size(); ++j) {
      if (!plan.jobs[j].nodes.empty() || GetParam() == "aiturbo-literal") continue;
      EXPECT_GT(RequestedSize(example.snapshot.jobs[j]).num_gpus, left) << "seed " << seed << ", job " << j;
    }
  }
}

TEST_P(AllocationLawsTest, DuplicateIdsAreRefused) {
  ExampleSnapshot example;
  example.AddJob(2, 1, 10);
  example.AddJob(2, 1, 10).id = JobId(0);
  EXPECT_THAT(policy_->Decide(example.snapshot).status().message(), HasSubstr("two jobs have the id 0"));
}

INSTANTIATE_TEST_SUITE_P(Policies, AllocationLawsTest, testing::ValuesIn(AllocationPolicyNames()),
                         [](const auto& param_info) {
                           std::string name(param_info.param);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(AllocationRegistryTest, UnknownNamesListTheKnownOnes) {
  EXPECT_THAT(CreateAllocationPolicy("lottery", 1).status().message(), HasSubstr("known: aiturbo, aiturbo-literal"));
}

TEST(ValidateSnapshotTest, NamesTheJobAndTheFault) {
  const auto message = [](auto change) {
    ExampleSnapshot example;
    change(example.AddJob(2, 1, 10));
    return ValidateSnapshot(example.snapshot).message();
  };
  EXPECT_THAT(message([](AllocationJob& job) { job.sizes = {}; }), HasSubstr("job 0 has no size"));
  EXPECT_THAT(message([](AllocationJob& job) { job.requested = 2; }), HasSubstr("asks for size 2 of 2"));
  EXPECT_THAT(message([](AllocationJob& job) { job.executed_s = -1; }), HasSubstr("executed time is -1"));
  EXPECT_THAT(message([](AllocationJob& job) { job.remaining_iterations = std::numeric_limits<double>::quiet_NaN(); }),
              HasSubstr("remaining iterations is nan"));
  EXPECT_THAT(message([](AllocationJob& job) { job.current = {{HostId(9), 1, 0}}; }), HasSubstr("runs on node 9"));
  static const std::vector<JobSize> kDescending = {{2, 0, 1}, {1, 0, 1}};
  EXPECT_THAT(message([](AllocationJob& job) { job.sizes = kDescending; }), HasSubstr("expected ascending sizes"));
}

// One GPU free at 100 s when the first job ends: 100 iterations of 1 s. The second waits for it.
TEST(PlanAssemblyTest, ExpectsStartsAndFinishes) {
  ExampleSnapshot example(1, 1);
  example.AddJob(1, 1, 100);
  example.AddJob(1, 1, 50);
  AllocationPlan plan = BeginPlan(example.snapshot);
  const ServiceOrder order = BySubmission(example.snapshot);
  Resources room = TotalCapacity(example.snapshot);
  GrantRequested(example.snapshot, order, false, &room, &plan);
  FinishPlan(example.snapshot, order, PlacingOrder::kByService, &plan);
  // It starts, so a restart of 30 s comes first.
  const SimTime end = example.snapshot.now + SimDuration::FromSeconds(Seconds(130));
  EXPECT_EQ(plan.jobs[0].reason.expected_finish, end);
  EXPECT_EQ(plan.jobs[1].reason.expected_start, end);
  EXPECT_EQ(plan.jobs[1].reason.cause, PendingCause::kNoGpus);
}

// Two GPUs with 8 cores each on two nodes; node 0 has 16 cores, node 1 has 4: only node 0 can hold both.
TEST(PlanAssemblyTest, CoresGoWithTheirGpus) {
  ExampleSnapshot example(2, 4, 16);
  example.snapshot.nodes[HostId(1)].num_cores = 4;
  example.AddJobWith({{2, 16, 1}}, 10);
  example.AddJobWith({{1, 4, 1}}, 10);
  example.AddJobWith({{1, 8, 1}}, 10);
  AllocationPlan plan = BeginPlan(example.snapshot);
  const ServiceOrder order = BySubmission(example.snapshot);
  Resources room = TotalCapacity(example.snapshot);
  GrantRequested(example.snapshot, order, false, &room, &plan);
  FinishPlan(example.snapshot, order, PlacingOrder::kByService, &plan);
  EXPECT_THAT(plan.jobs[0].nodes, testing::ElementsAre(NodeShare{HostId(0), 2, 16}));
  EXPECT_THAT(plan.jobs[1].nodes, testing::ElementsAre(NodeShare{HostId(1), 1, 4}));
  EXPECT_EQ(plan.jobs[2].reason.cause, PendingCause::kNoCores);
}

}  // namespace
}  // namespace fairlead::scheduling
