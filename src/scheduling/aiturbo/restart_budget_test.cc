#include "scheduling/aiturbo/restart_budget.h"

#include <gtest/gtest.h>

#include <limits>
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

TEST(RestartBudgetTest, WhoComesToFiveTimesTheBudgetAtItsPaceHasToSave) {
  const RestartBudget budget(20);
  // 4 restarts in 1000 s: 100 in 25,000 s.
  EXPECT_FALSE(budget.HasToSave(JobThatRan(1000, 4), 23'999));
  EXPECT_TRUE(budget.HasToSave(JobThatRan(1000, 4), 24'000));
  // One restart says nothing.
  EXPECT_FALSE(budget.HasToSave(JobThatRan(1, 1), 1e9));
  // Three quarters of the budget, however soon it ends.
  EXPECT_FALSE(budget.HasToSave(JobThatRan(1e6, 14), 1));
  EXPECT_TRUE(budget.HasToSave(JobThatRan(1e6, 15), 1));
  EXPECT_FALSE(RestartBudget(0).HasToSave(JobThatRan(1000, 1000), 1e9));
}

TEST(RestartBudgetTest, ChangesAreSpreadOverWhatIsLeft) {
  const RestartBudget budget(20);
  // 96 of 100 left, two each: 48 changes in 48,000 s.
  EXPECT_DOUBLE_EQ(budget.PaceSeconds(JobThatRan(1000, 4), 48'000), 1000);
  EXPECT_EQ(budget.PaceSeconds(JobThatRan(1000, 15), 48'000), std::numeric_limits<double>::infinity());
}

// A job that has 5000 s left and five restarts: each of its turns takes 1000 s, and the last one ends it.
TEST(RestartBudgetTest, TurnsLastUntilTheEnd) {
  const RestartBudget budget(20);
  EXPECT_FALSE(budget.TakesTurns(JobThatRan(1000, 14)));
  EXPECT_FALSE(RestartBudget(0).TakesTurns(JobThatRan(1000, 1000)));
  double left_s = 5000;
  for (uint32_t n = 15; n < 20; ++n) {
    ASSERT_TRUE(budget.TakesTurns(JobThatRan(1000, n)));
    EXPECT_DOUBLE_EQ(budget.TurnSeconds(JobThatRan(1000, n), left_s), 1000) << n;
    left_s -= 1000;
  }
  EXPECT_DOUBLE_EQ(left_s, 0);
  EXPECT_DOUBLE_EQ(budget.TurnSeconds(JobThatRan(1000, 30), 5000), 5000);
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
  EXPECT_TRUE(budget.IsOverdue(JobThatRan(3000, 15), 1000, 5000, 2500));
  EXPECT_FALSE(budget.IsOverdue(JobThatRan(3000, 14), 1000, 5000, 2500)) << "it has a quarter of its budget left";
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
      EXPECT_GE(cluster.Decide(), 1u) << "decision " << i;
    }
    // Without a budget every second short job takes GPUs from it, and it takes them back.
    if (budget == 0) {
      EXPECT_GT(cluster.job().num_restarts, 20u);
    } else {
      // From four GPUs to eight it saves 125,000 s, in 60,000 s: beyond the budget it escapes twice, and makes room
      // for short ones that have waited for long twice.
      EXPECT_LE(cluster.job().num_restarts, 14u);
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

// A long job on eight GPUs that could use all of them, and a short one of `gpus`. Returns what the long one gets.
uint64_t BesideAShortJob(uint32_t gpus, uint32_t restarts, uint32_t held, double kept_s, bool failed = false) {
  ExampleSnapshot example(2, 4);
  AllocationJob& job = example.AddJob(8, 1, 1e6);
  job.num_restarts = restarts;
  job.executed_s = job.attained_service = 1e5;
  job.resized_at = job.waiting_since = example.snapshot.now - SimDuration::FromSeconds(Seconds(kept_s));
  job.memory.stopped_by_policy = held == 0 && !failed;
  if (held > 0) job.current.push_back({HostId(0), std::min(held, 4u), 0});
  if (held > 4) job.current.push_back({HostId(1), held - 4, 0});
  example.AddJobWith({{gpus, 0, 1.0}}, 100);
  const AllocationPlan plan = CreateAiturbo().value()->Decide(example.snapshot).value();
  ExpectLegal(example.snapshot, plan);
  return plan.jobs[0].resources.num_gpus;
}

TEST(RestartBudgetTest, WhoHasToSaveStartsWholeOrNotAtAll) {
  EXPECT_EQ(BesideAShortJob(5, 1, 0, 1000), 3u) << "has few restarts";
  EXPECT_EQ(BesideAShortJob(5, 16, 0, 1000), 0u);
  EXPECT_EQ(BesideAShortJob(5, 16, 0, 1000, true), 3u) << "its nodes failed";
}

// Who stopped a job is known from one decision to the next, until it runs again.
TEST(RestartBudgetTest, PlansNoteWhomTheyStop) {
  ExampleSnapshot example(1, 4);
  AllocationJob& job = example.AddJobWith({{4, 0, 1.0}}, 1e5);
  job.current = {{HostId(0), 4, 0}};
  job.executed_s = 1e5;
  example.AddJobWith({{4, 0, 1.0}}, 10);
  const auto policy = CreateAiturbo({}).value();
  AllocationPlan plan = policy->Decide(example.snapshot).value();
  ASSERT_TRUE(plan.jobs[0].nodes.empty());
  EXPECT_TRUE(plan.jobs[0].memory.stopped_by_policy);
  EXPECT_FALSE(plan.jobs[1].memory.stopped_by_policy);
  example.Apply(plan, 60);
  plan = policy->Decide(example.snapshot).value();
  EXPECT_TRUE(plan.jobs[0].memory.stopped_by_policy) << "still";
  std::erase_if(example.snapshot.jobs, [](const AllocationJob& other) { return other.is_running(); });
  plan = policy->Decide(example.snapshot).value();
  ASSERT_FALSE(plan.jobs[0].nodes.empty());
  EXPECT_FALSE(plan.jobs[0].memory.stopped_by_policy);
}

// It has 125,000 s left, and four restarts: its turn of 31,250 s is over.
TEST(RestartBudgetTest, WhoHasToSaveLosesByHalves) {
  EXPECT_EQ(BesideAShortJob(1, 1, 8, 32'000), 7u) << "has few restarts";
  EXPECT_EQ(BesideAShortJob(1, 16, 8, 32'000), 4u);
  EXPECT_EQ(BesideAShortJob(5, 16, 8, 32'000), 3u);
  EXPECT_EQ(BesideAShortJob(7, 16, 8, 32'000), 0u) << "a GPU of the eight that it wants is no more worth a restart";
}

// There is room for turns of two GPUs, half of half a cluster, and for those that have twice as many already.
TEST(RestartBudgetTest, ATurnIsKeptWhateverComes) {
  EXPECT_EQ(BesideAShortJob(6, 16, 2, 1000), 2u);
  EXPECT_EQ(BesideAShortJob(8, 16, 2, 1000), 2u);
  EXPECT_EQ(BesideAShortJob(8, 16, 4, 1000), 4u);
  EXPECT_EQ(BesideAShortJob(6, 16, 8, 1000), 2u);
  EXPECT_EQ(BesideAShortJob(6, 20, 8, 1000), 8u) << "its last turn";
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

// The same where its length is unknown, and some of its budget is left: what it is thought to have left is what it has
// had, so that no change saves more than that, and none is an escape.
TEST(RestartBudgetTest, AJobOfUnknownLengthIsNotBoundForEver) {
  for (const uint32_t num_restarts : {15u, 19u, 25u}) {
    OneLongJob cluster(20);
    cluster.job().is_predictable = false;
    cluster.job().num_restarts = num_restarts;
    cluster.job().executed_s = cluster.job().attained_service = 29'999;
    cluster.job().current = {{HostId(0), 1, 0}};  // since 0 s; it is 10,000 s
    EXPECT_EQ(cluster.Decide(), 8u) << num_restarts;
  }
}

}  // namespace
}  // namespace fairlead::scheduling::aiturbo
