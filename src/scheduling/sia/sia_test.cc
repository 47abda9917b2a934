// Sia: the worked example of its specification, its integer program against exhaustive search, and its nodes.
#include "scheduling/sia/sia.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"
#include "scheduling/allocation_example.h"

namespace fairlead::scheduling::sia {
namespace {

using testing::ElementsAre;

// Two types of one node of 4 GPUs; two jobs of 1 to 4 GPUs that have run at all sizes.
class SiaExampleTest : public testing::Test {
 protected:
  SiaExampleTest() : example_(2, 4) {
    example_.snapshot.now = SimTime::FromSeconds(Seconds(600));
    example_.snapshot.nodes[HostId(1)].gpu_type = 1;
    for (const auto& goodput : {&first_, &second_}) {
      AllocationJob& job = example_.AddJobWith({{1, 0, 1}, {2, 0, 1}, {4, 0, 1}}, 1000);
      job.submission = SimTime();
      job.type_goodput = *goodput;
      job.memory.size = 2;
    }
  }

  double Cost() {
    const auto configurations = ListConfigurations(example_.snapshot);
    std::vector<std::vector<AssignmentOption>> options;
    for (const AllocationJob& job : example_.snapshot.jobs) {
      options.push_back(WeighConfigurations(job, example_.snapshot, configurations, -0.5).options);
    }
    const Assignment chosen = SolveAssignment(options, 1.1, {4, 4}).value();
    double cost = 0;
    for (size_t j = 0; j < chosen.size(); ++j) cost += chosen[j] ? options[j][*chosen[j]].cost : 1.1;
    return cost;
  }
  std::vector<std::vector<NodeShare>> Nodes() {
    const AllocationPlan plan = CreateSia().value()->Decide(example_.snapshot).value();
    return {plan.jobs[0].nodes, plan.jobs[1].nodes};
  }

  const std::vector<std::vector<double>> first_ = {{10, 18, 30}, {20, 34, 50}};
  const std::vector<std::vector<double>> second_ = {{5, 6, 7}, {20, 38, 70}};
  ExampleSnapshot example_;
};

// Job 0 on the first type: (30 / 10)^-0.5 = 0.58; job 1 on the second: (70 / 5)^-0.5 = 0.27.
TEST_F(SiaExampleTest, WorkedExample) {
  EXPECT_NEAR(Cost(), 0.85, 1e-9);
  EXPECT_THAT(Nodes(), ElementsAre(ElementsAre(NodeShare{HostId(0), 4, 0}), ElementsAre(NodeShare{HostId(1), 4, 0})));
}

// Job 0 runs on the second type: r = (600 - 2 * 30) / 630 = 0.857143, (0.857143 * 3)^-0.5 = 0.62. It moves.
TEST_F(SiaExampleTest, ARestartThatPays) {
  AllocationJob& job = example_.snapshot.jobs[0];
  job.current = {{HostId(1), 4, 0}};
  job.num_restarts = 2;
  EXPECT_NEAR(Cost(), 0.89, 1e-9);
  EXPECT_THAT(Nodes(), ElementsAre(ElementsAre(NodeShare{HostId(0), 4, 0}), ElementsAre(NodeShare{HostId(1), 4, 0})));
}

// r = (600 - 400) / (600 + 400) = 0.2 of both. Job 0 has (50 / 10)^-0.5 = 0.45 on the second type, job 1 (5 / 5)^-0.5 =
// 1 on one GPU of the first. To move would cost job 0 (0.2 * 3)^-0.5 = 1.29, more than to wait, and job 1 (0.2 *
// 14)^-0.5 = 0.6, while job 0 waits: 1.7.
TEST_F(SiaExampleTest, RestartsThatDoNotPay) {
  for (AllocationJob& job : example_.snapshot.jobs) {
    job.num_restarts = 1;
    job.restart_cost_s = 400;
  }
  example_.snapshot.jobs[0].current = {{HostId(1), 4, 0}};
  example_.snapshot.jobs[1].current = {{HostId(0), 1, 0}};
  EXPECT_NEAR(Cost(), 1.45, 1e-9);
  EXPECT_THAT(Nodes(), ElementsAre(ElementsAre(NodeShare{HostId(1), 4, 0}), ElementsAre(NodeShare{HostId(0), 1, 0})));
}

// It is on both of its only GPUs; the other job would gain more by them.
TEST_F(SiaExampleTest, AJobInTheMiddleOfARestartStays) {
  AllocationJob& job = example_.snapshot.jobs[0];
  job.current = {{HostId(1), 4, 0}};
  job.is_restarting = true;
  EXPECT_THAT(Nodes()[0], ElementsAre(NodeShare{HostId(1), 4, 0}));
}

// Nothing is known: one GPU, on either type. One GPU was had: at most two.
TEST_F(SiaExampleTest, JobsStartOnOneGpuAndAtMostDouble) {
  const std::vector<std::vector<double>> nothing(2, std::vector<double>(3));
  AllocationJob& fresh = example_.snapshot.jobs[0];
  fresh.type_goodput = nothing;
  fresh.memory.size.reset();
  example_.snapshot.jobs[1].memory.size = 0;
  const AllocationPlan plan = CreateSia().value()->Decide(example_.snapshot).value();
  EXPECT_THAT(GpusOf(plan), ElementsAre(1, 2));
}

// The configurations of 6 nodes of 4 GPUs and 3 of 8: 8 and 6.
TEST(SiaTest, ConfigurationsArePowersOfTwoAndWholeNodes) {
  ExampleSnapshot example(9, 4);
  for (uint32_t n = 6; n < 9; ++n) example.snapshot.nodes[HostId(n)] = {8, 64, 1};
  EXPECT_THAT(ListConfigurations(example.snapshot),
              ElementsAre(ElementsAre(1, 2, 4, 8, 12, 16, 20, 24), ElementsAre(1, 2, 4, 8, 16, 24)));
}

double LeastCost(const std::vector<std::vector<AssignmentOption>>& options, size_t job, std::vector<double> counts) {
  if (job == options.size()) return 0;
  double least = 1.1 + LeastCost(options, job + 1, counts);
  for (const AssignmentOption& option : options[job]) {
    if (option.num_gpus > counts[option.gpu_type]) continue;
    std::vector<double> left = counts;
    left[option.gpu_type] -= option.num_gpus;
    least = std::min(least, option.cost + LeastCost(options, job + 1, left));
  }
  return least;
}

TEST(SiaTest, TheProgramEqualsExhaustiveSearch) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    std::vector<double> counts(1 + random.Below(3));
    for (double& count : counts) count = static_cast<double>(1 + random.Below(8));
    std::vector<std::vector<AssignmentOption>> options(1 + random.Below(4));
    for (auto& own : options) {
      own.resize(random.Below(7));
      for (AssignmentOption& option : own) {
        option = {static_cast<uint32_t>(random.Below(counts.size())), static_cast<double>(1 + random.Below(8)),
                  random.Uniform(0.1, 1.5)};
      }
    }
    const Assignment chosen = SolveAssignment(options, 1.1, counts).value();
    double cost = 0;
    std::vector<double> left = counts;
    for (size_t j = 0; j < chosen.size(); ++j) {
      cost += chosen[j] ? options[j][*chosen[j]].cost : 1.1;
      if (chosen[j]) left[options[j][*chosen[j]].gpu_type] -= options[j][*chosen[j]].num_gpus;
    }
    EXPECT_GE(*std::ranges::min_element(left), 0) << "seed " << seed;
    EXPECT_NEAR(cost, LeastCost(options, 0, counts), 1e-4 * cost) << "seed " << seed;
  }
}

double CostOf(const std::vector<std::vector<AssignmentOption>>& options, const Assignment& chosen) {
  double cost = 0;
  for (size_t j = 0; j < chosen.size(); ++j) cost += chosen[j] ? options[j][*chosen[j]].cost : 1.1;
  return cost;
}

// A second type without GPUs makes it a case for CBC.
TEST(SiaTest, OneTypeCostsWhatTheIntegerProgramSays) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Random random(seed);
    const double num_gpus = static_cast<double>(1 + random.Below(64));
    std::vector<std::vector<AssignmentOption>> options(1 + random.Below(40));
    for (auto& own : options) {
      for (const double gpus : {1, 2, 4, 8, 16, 32}) {
        own.push_back({0, gpus, std::round(100 * std::pow(gpus, random.Uniform(-0.5, 0))) / 100});
      }
    }
    const Assignment chosen = SolveAssignment(options, 1.1, {num_gpus}).value();
    double left = num_gpus;
    for (size_t j = 0; j < chosen.size(); ++j) left -= chosen[j] ? options[j][*chosen[j]].num_gpus : 0;
    EXPECT_GE(left, 0) << "seed " << seed;
    const double cost = CostOf(options, chosen);
    EXPECT_NEAR(cost, CostOf(options, SolveAssignment(options, 1.1, {num_gpus, 0}).value()), 1e-4 * cost)
        << "seed " << seed;
  }
}

// Two GPUs save 0.4 of 1.1 with the first job alone as with each job on one.
TEST(SiaTest, OfEqualCostsMostJobsRun) {
  const std::vector<AssignmentOption> both = {{0, 1, 0.9}, {0, 2, 0.7}};
  const std::vector<AssignmentOption> one = {{0, 1, 0.9}};
  EXPECT_THAT(SolveAssignment({both, one}, 1.1, {2}).value(), ElementsAre(0u, 0u));
  EXPECT_THAT(SolveAssignment({one, both}, 1.1, {2}).value(), ElementsAre(0u, 0u));
}

// Two jobs of one GPU on a node each, and one that is to have a node: one of the two moves to the other's node.
TEST(SiaTest, SmallJobsMakeRoomForWholeNodes) {
  ExampleSnapshot example(2, 4);
  for (uint32_t n = 0; n < 2; ++n) {
    AllocationJob& job = example.AddJobWith({{1, 0, 1}}, 1000);
    job.current = {{HostId(n), 1, 0}};
  }
  example.AddJobWith({{4, 0, 1}}, 1000);
  const AllocationPlan plan = CreateSia().value()->Decide(example.snapshot).value();
  EXPECT_THAT(GpusOf(plan), ElementsAre(1, 1, 4));
  EXPECT_EQ(plan.jobs[2].nodes.size(), 1u);
  EXPECT_EQ(plan.jobs[0].nodes[0].node, plan.jobs[1].nodes[0].node);
}

}  // namespace
}  // namespace fairlead::scheduling::sia
