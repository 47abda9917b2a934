#include "scheduling/aiturbo/restart_budget.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "scheduling/aiturbo/aiturbo.h"
#include "scheduling/allocation_example.h"

namespace fairlead::scheduling::aiturbo {
namespace {

AllocationJob JobThatRan(double executed_s, uint32_t num_restarts) {
  AllocationJob job;
  job.executed_s = executed_s;
  job.num_restarts = num_restarts;
  return job;
}

TEST(RestartBudgetTest, JobsSaveFromTheSecondRestartOn) {
  const RestartBudget budget(20);
  EXPECT_FALSE(budget.HasToSave(JobThatRan(1000, 1)));
  EXPECT_TRUE(budget.HasToSave(JobThatRan(1000, 2)));
  EXPECT_FALSE(RestartBudget(0).HasToSave(JobThatRan(1000, 1000)));
}

TEST(RestartBudgetTest, ChangesAreSpreadOverWhatIsLeft) {
  const RestartBudget budget(20);
  // 14 of 20 left, two of them for others.
  EXPECT_DOUBLE_EQ(budget.PaceSeconds(JobThatRan(1000, 6), 60'000), 1000);
  EXPECT_DOUBLE_EQ(budget.PaceSeconds(JobThatRan(1000, 17), 60'000), 12'000);
  EXPECT_DOUBLE_EQ(budget.PaceSeconds(JobThatRan(1000, 40), 60'000), 12'000) << "as with the last one";
  EXPECT_FALSE(budget.IsBound(JobThatRan(1000, 17)));
  EXPECT_TRUE(budget.IsBound(JobThatRan(1000, 18)));
}

TEST(RestartBudgetTest, EscapesBecomeDearerBeyondTheBudget) {
  const RestartBudget budget(20);
  EXPECT_TRUE(budget.IsEscape(JobThatRan(1000, 20), 1000));
  EXPECT_FALSE(budget.IsEscape(JobThatRan(1000, 20), 999));
  EXPECT_TRUE(budget.IsEscape(JobThatRan(1000, 23), 8000));
  EXPECT_FALSE(budget.IsEscape(JobThatRan(1000, 23), 7999));
}

TEST(RestartBudgetTest, AChangeIsOverdueAfterAThirdOfTheTime) {
  const RestartBudget budget(20);
  EXPECT_TRUE(budget.IsOverdue(JobThatRan(3000, 60), 1000, 5000, 2500));
  EXPECT_FALSE(budget.IsOverdue(JobThatRan(3000, 60), 999, 5000, 2500));
  EXPECT_FALSE(budget.IsOverdue(JobThatRan(3000, 60), 1000, 5000, 2499)) << "less than twice as fast";
  EXPECT_FALSE(budget.IsOverdue(JobThatRan(3000, 19), 1000, 5000, 2500)) << "it still has some of its budget";
}

// One long job on eight GPUs, of speed k, and short ones that come one by one, each of two GPUs and of 100 s.
class OneLongJob {
 public:
  explicit OneLongJob(double restart_budget) {
    AiturboOptions options;
    options.restart_budget = restart_budget;
    policy_ = CreateAiturbo(options).value();
    AllocationJob& job = example_.AddJob(8, 1, 1e6);
    job.restart_cost_s = 30;
  }

  uint64_t Decide() {
    const AllocationPlan plan = policy_->Decide(example_.snapshot).value();
    ExpectLegal(example_.snapshot, plan);
    example_.Apply(plan, 100);
    std::erase_if(example_.snapshot.jobs,
                  [&](const AllocationJob& job) { return job.id != JobId(0) && job.is_running(); });
    return plan.jobs[0].resources.num_gpus;
  }
  void AddShort() {
    AllocationJob& job = example_.AddJobWith({{2, 0, 1.0}}, 100);
    job.id = JobId(next_++);
    job.submission = job.waiting_since = example_.snapshot.now;
  }
  AllocationJob& job() { return example_.snapshot.jobs[0]; }

 private:
  ExampleSnapshot example_{2, 4};
  std::unique_ptr<AllocationPolicy> policy_;
  uint64_t next_ = 1;
};

TEST(RestartBudgetTest, ALongJobAmongShortOnesStaysWithinItsBudget) {
  for (const double budget : {0.0, 10.0}) {
    OneLongJob cluster(budget);
    for (int i = 0; i < 600; ++i) {
      if (i % 8 == 0) cluster.AddShort();
      cluster.Decide();
    }
    // Without a budget every second short job takes GPUs from it, and it takes them back.
    if (budget == 0) {
      EXPECT_GT(cluster.job().num_restarts, 20u);
    } else {
      // Escapes at the beginning, when it has hardly run, are beside it.
      EXPECT_LE(cluster.job().num_restarts, 13u);
    }
  }
}

// A job that has nothing left of its budget and one GPU must not keep to that in an empty cluster.
TEST(RestartBudgetTest, AJobEscapesFromATinySize) {
  OneLongJob cluster(4);
  cluster.job().num_restarts = 4;
  cluster.job().executed_s = cluster.job().attained_service = 50'000;
  cluster.job().current = {{HostId(0), 1, 0}};
  EXPECT_EQ(cluster.Decide(), 8u);
  // From seven GPUs it would save an eighth of 1e6 / 7 s, less than it has run.
  OneLongJob larger(4);
  larger.job().num_restarts = 4;
  larger.job().executed_s = larger.job().attained_service = 50'000;
  larger.job().current = {{HostId(0), 4, 0}, {HostId(1), 3, 0}};
  EXPECT_EQ(larger.Decide(), 7u);
}

// Others have restarted it far beyond its budget, and it has one GPU of an empty cluster. It keeps to that for a
// third of its time: for 10,000 s of 30,000.
TEST(RestartBudgetTest, RestartsByOthersDontBindForEver) {
  for (const auto& [executed_s, gpus] : {std::pair(29'999.0, 8u), std::pair(30'001.0, 1u)}) {
    OneLongJob cluster(4);
    cluster.job().num_restarts = 60;
    cluster.job().executed_s = cluster.job().attained_service = executed_s;
    cluster.job().current = {{HostId(0), 1, 0}};  // since 0 s; it is 10,000 s
    EXPECT_EQ(cluster.Decide(), gpus) << executed_s;
  }
}

// A long job of `num_restarts`, stopped 1000 s ago by a plan, beside a short one, on two nodes of four GPUs.
class StoppedJob {
 public:
  explicit StoppedJob(uint32_t num_restarts, uint32_t gpus_of_other) {
    example_.AddJob(8, 1, 1e6);
    job().num_restarts = num_restarts;
    job().restart_cost_s = 30;
    job().executed_s = job().attained_service = 50'000;
    job().memory.stopped_by_policy = true;
    job().waiting_since = job().resized_at = example_.snapshot.now - SimDuration::FromSeconds(Seconds(1000));
    if (gpus_of_other == 0) return;
    example_.AddJobWith({{gpus_of_other, 0, 1.0}}, 100);
  }

  uint64_t Decide() {
    const AllocationPlan plan = policy_->Decide(example_.snapshot).value();
    ExpectLegal(example_.snapshot, plan);
    return plan.jobs[0].resources.num_gpus;
  }
  AllocationJob& job() { return example_.snapshot.jobs[0]; }

 private:
  ExampleSnapshot example_{2, 4};
  const std::unique_ptr<AllocationPolicy> policy_ = CreateAiturbo({}).value();
};

// At eight GPUs it has 125,000 s left: a fifth of that for one of 18, or for all.
TEST(RestartBudgetTest, AStoppedJobWaitsBeforeItStartsOnWhatOthersLeave) {
  EXPECT_EQ(StoppedJob(1, 4).Decide(), 4u) << "has few restarts";
  EXPECT_EQ(StoppedJob(17, 4).Decide(), 0u);
  EXPECT_EQ(StoppedJob(17, 0).Decide(), 8u) << "nobody else is there";
}

TEST(RestartBudgetTest, AJobWhoseNodesFailedStartsAtOnce) {
  StoppedJob cluster(17, 4);
  cluster.job().memory.stopped_by_policy = false;
  EXPECT_EQ(cluster.Decide(), 4u);
}

TEST(RestartBudgetTest, NobodyStartsOnCrumbs) {
  for (const auto& [restarts, gpus] : {std::pair(0u, 1u), std::pair(3u, 0u)}) {
    StoppedJob cluster(restarts, 7);
    cluster.job().resized_at = SimTime{};
    EXPECT_EQ(cluster.Decide(), gpus) << restarts;
  }
}

// Who stopped a job is known from one decision to the next, until it runs again.
TEST(RestartBudgetTest, PlansNoteWhomTheyStop) {
  ExampleSnapshot example(1, 4);
  example.AddJob(4, 1, 1e5);
  example.snapshot.jobs[0].current = {{HostId(0), 4, 0}};
  example.snapshot.jobs[0].executed_s = 1e5;
  example.AddJobWith({{4, 0, 1.0}}, 10);
  const auto policy = CreateAiturbo({}).value();
  AllocationPlan plan = policy->Decide(example.snapshot).value();
  ASSERT_TRUE(plan.jobs[0].nodes.empty());
  EXPECT_TRUE(plan.jobs[0].memory.stopped_by_policy);
  EXPECT_FALSE(plan.jobs[1].memory.stopped_by_policy);
  example.Apply(plan, 60);
  plan = policy->Decide(example.snapshot).value();
  EXPECT_TRUE(plan.jobs[0].memory.stopped_by_policy) << "still";
  std::erase_if(example.snapshot.jobs, [](const AllocationJob& job) { return job.is_running(); });
  plan = policy->Decide(example.snapshot).value();
  ASSERT_FALSE(plan.jobs[0].nodes.empty());
  EXPECT_FALSE(plan.jobs[0].memory.stopped_by_policy);
}

}  // namespace
}  // namespace fairlead::scheduling::aiturbo
