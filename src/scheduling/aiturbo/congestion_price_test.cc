// Sizes under congestion, and the menus that they are chosen from.
#include "scheduling/aiturbo/congestion_price.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/random.h"
#include "scheduling/aiturbo/aiturbo.h"
#include "scheduling/aiturbo/job_menu.h"
#include "scheduling/allocation_example.h"
#include "scheduling/job_sizes.h"

namespace fairlead::scheduling::aiturbo {
namespace {

using testing::Each;
using testing::ElementsAre;

// GPUs of the choice at this price.
uint64_t GpusAt(const AllocationJob& job, double num_waiting, const Resources& total) {
  const JobMenu menu(job, total);
  return menu.size(ChooseSize(menu, {num_waiting, 1}, total)).num_gpus;
}

// T(k) = k^-p on 100 GPUs: T(k) (1 + Q k / 100) is least at k = 100 p / (Q (1 - p)), as its derivative is
// k^(-p-1) (-p + Q k (1 - p) / 100). p = 0.5, Q = 10: k = 10; Q = 20: 5; Q = 0: the largest.
TEST(CongestionPriceTest, MatchesTheClosedForm) {
  ExampleSnapshot example(25, 4);
  const AllocationJob& job = example.AddJob(64, 0.5, 1000);
  EXPECT_EQ(GpusAt(job, 10, {100, 0}), 10u);
  EXPECT_EQ(GpusAt(job, 20, {100, 0}), 5u);
  EXPECT_EQ(GpusAt(job, 0, {100, 0}), 64u);
  EXPECT_EQ(GpusAt(job, 1e6, {100, 0}), 1u);
  // Larger than the cluster is no choice.
  EXPECT_EQ(GpusAt(job, 0, {32, 0}), 32u);
}

// With c / r = C beside T(k), k / 2 + C k^1.5 = 5 where the cost is least: C = 3/8, k = 4, as all wait for the start,
// too. The size in force costs no start: 10 GPUs, (0.316 + 0) 2 against (0.5 + 3/8) 1.4.
TEST(CongestionPriceTest, AStartIsPaidByAllThatWait) {
  ExampleSnapshot example(25, 4);
  AllocationJob& job = example.AddJob(64, 0.5, 1000);
  const auto gpus = [&](double change_s) {
    const JobMenu menu(job, {100, 0});
    return menu.size(ChooseSize(menu, {10, 1}, {100, 0}, change_s)).num_gpus;
  };
  EXPECT_EQ(gpus(0.375), 4u);
  EXPECT_EQ(gpus(0), 10u);
  job.current = {{HostId(0), 4, 0}, {HostId(1), 4, 0}, {HostId(2), 2, 0}};
  EXPECT_EQ(gpus(0.375), 10u);
}

// Jobs that take ten restarts get fewer GPUs each than the same with restarts that cost nothing.
TEST(CongestionPriceTest, ShortJobsStartSmallWhereRestartsAreLong) {
  const auto largest = [](double restart_s) {
    ExampleSnapshot example(16, 4);
    for (int j = 0; j < 40; ++j) example.AddJob(16, 0.8, 3000).restart_cost_s = restart_s;
    const std::vector<JobMenu> menus = BuildMenus(example.snapshot);
    const std::vector<uint32_t> choices = PriceSizes(example.snapshot, menus, 2);
    uint32_t most = 0;
    for (size_t j = 0; j < menus.size(); ++j) most = std::max(most, menus[j].size(choices[j]).num_gpus);
    return most;
  };
  EXPECT_LT(largest(300), largest(0));
}

TEST(CongestionPriceTest, MoreWaitingSmallerShares) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    ExampleSnapshot example;
    std::vector<JobSize> sizes;
    for (uint32_t k = 1; k <= 24; ++k) sizes.push_back({k, 0, random.Uniform(0.5, 2) / k});
    const AllocationJob& job = example.AddJobWith(std::move(sizes), 100);
    uint64_t last = 24;
    for (double waiting = 0; waiting < 100; waiting += 3) {
      const uint64_t gpus = GpusAt(job, waiting, {64, 0});
      EXPECT_LE(gpus, last) << "seed " << seed;
      last = gpus;
    }
  }
}

// Alone, a job takes all that helps it, however wasteful; among many, sizes shrink until those that wait are few.
TEST(CongestionPriceTest, TheQueueDecides) {
  ExampleSnapshot example(4, 4);
  example.AddJob(16, 0.5, 1000);
  const auto policy = CreateAiturbo().value();
  EXPECT_THAT(GpusOf(policy->Decide(example.snapshot).value()), ElementsAre(16));
  for (int j = 1; j < 16; ++j) example.AddJob(16, 0.5, 1000);
  EXPECT_THAT(GpusOf(policy->Decide(example.snapshot).value()), Each(1));
}

// Its size does not need its length, so an unpredictable job is sized as it starts: alone it takes all. Once it runs it
// stays, and where no speed is known it gets what it asks for. No job, no choice.
TEST(CongestionPriceTest, UnpredictableJobsAreSizedOnce) {
  ExampleSnapshot example(4, 4);
  AllocationJob& job = example.AddJob(16, 0.5, 0);
  job.is_predictable = false;
  job.requested = 6;
  EXPECT_THAT(PriceSizes(example.snapshot, BuildMenus(example.snapshot), 2), ElementsAre(15));
  job.current = {{HostId(0), 3, 0}};
  EXPECT_THAT(PriceSizes(example.snapshot, BuildMenus(example.snapshot), 2), ElementsAre(2));
  ExampleSnapshot unknown(4, 4);
  AllocationJob& silent = unknown.AddJobWith({{1, 0, 0}, {2, 0, 0}, {4, 0, 0}}, 0);
  silent.is_predictable = false;
  silent.requested = 1;
  EXPECT_THAT(PriceSizes(unknown.snapshot, BuildMenus(unknown.snapshot), 2), ElementsAre(1));
  EXPECT_TRUE(PriceSizes(ExampleSnapshot().snapshot, {}, 2).empty());
}

// All jobs choose among all their sizes for each number that may wait; those who then find no room are counted.
std::vector<uint32_t> PriceSizesSlowly(const AllocationSnapshot& snapshot, std::span<const JobMenu> menus) {
  const Resources total = TotalCapacity(snapshot);
  std::vector<uint32_t> choices(menus.size());
  const auto leaves = [&](size_t num_waiting) {
    std::vector<std::pair<double, uint32_t>> order;
    for (uint32_t j = 0; j < menus.size(); ++j) {
      const double change_s = snapshot.jobs[j].restart_cost_s / std::max(1.0, snapshot.jobs[j].remaining_iterations);
      choices[j] = ChooseSize(menus[j], {static_cast<double>(num_waiting), 1}, total, change_s);
      const JobSize& size = menus[j].size(choices[j]);
      order.emplace_back(snapshot.jobs[j].remaining_iterations * size.iteration_s * size.num_gpus, j);
    }
    std::ranges::sort(order);  // jobs are in order of submission
    uint64_t room = total.num_gpus;
    size_t num_left_over = 0;
    for (const auto& [service, j] : order) {
      const uint32_t wanted = menus[j].size(choices[j]).num_gpus;
      num_left_over += wanted > room ? 1 : 0;
      room -= wanted <= room ? wanted : 0;
    }
    return num_left_over;
  };
  size_t low = 0;
  for (size_t high = menus.size(); low < high;) {
    const size_t middle = (low + high) / 2;
    leaves(middle) <= middle ? high = middle : low = middle + 1;
  }
  leaves(low);
  return choices;
}

TEST(CongestionPriceTest, EqualsTheSlowReference) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    ExampleSnapshot example(1 + static_cast<uint32_t>(random.Below(12)), 4);
    const auto num_jobs = 1 + random.Below(60);
    for (uint32_t j = 0; j < num_jobs; ++j) {
      std::vector<JobSize> sizes;
      for (uint32_t k = 1; k <= 32; ++k) sizes.push_back({k, 0, random.Uniform(0.8, 1.25) * std::pow(k, -0.7)});
      AllocationJob& job = example.AddJobWith(std::move(sizes), random.Exponential(1000));
      if (random.Below(3) == 0) job.current = {{HostId(0), 1 + static_cast<uint32_t>(random.Below(4)), 0}};
    }
    const std::vector<JobMenu> menus = BuildMenus(example.snapshot);
    EXPECT_EQ(PriceSizes(example.snapshot, menus, 1), PriceSizesSlowly(example.snapshot, menus)) << "seed " << seed;
  }
}

// A job of one to four workers and as many servers: 12 s of work split over workers, a GPU worker does it ten times as
// fast; 2 s of transfer split over servers.
PsWorkerJob SplitWork() {
  PsWorkerJob job;
  job.limits.min = {1, 1, 1, 1, 0};
  job.limits.max = {4, 4, 1, 1, 4};
  job.config = {1, 1, 1, 1, 0};
  job.iteration_s = [](const PsWorkerConfig& c) {
    return 12.0 / (10 * c.num_gpus + (c.num_workers - c.num_gpus)) + 2.0 * c.num_workers / c.num_ps / 4;
  };
  return job;
}

AllocationJob& AddPsJob(const PsWorkerJob& kind, double remaining, ExampleSnapshot* example) {
  AllocationJob& job = example->AddJobWith({{0, 2, kind.iteration_s(kind.config)}}, remaining);
  job.ps_worker = &kind;
  return job;
}

TEST(JobMenuTest, WalksStayWithinLimitsAndTheCluster) {
  const PsWorkerJob kind = SplitWork();
  ExampleSnapshot example(1, 2, 6);
  const AllocationJob& job = AddPsJob(kind, 100, &example);
  const JobMenu menu(job, {2, 6});
  EXPECT_EQ(menu.config(menu.requested()), kind.config);
  EXPECT_FALSE(menu.current().has_value());
  bool has_gpu = false;
  for (const uint32_t k : menu.useful()) {
    const PsWorkerConfig config = menu.config(k).value();
    EXPECT_LE(config.num_gpus, 2u);
    EXPECT_LE(config.num_cores(), 6u);
    EXPECT_LE(config.num_gpus, config.num_workers);
    EXPECT_EQ(menu.size(k).iteration_s, kind.iteration_s(config));
    has_gpu |= config.num_gpus > 0;
  }
  EXPECT_TRUE(has_gpu);
}

// Where only GPUs are scarce, many jobs leave them to a few and compute on cores; where only cores are, the other way
// round: nearly all workers have one. 12 jobs, 4 GPUs and 400 cores; then 48 GPUs and 30 cores.
TEST(CongestionPriceTest, TheScarceResourceBearsThePrice) {
  const PsWorkerJob kind = SplitWork();
  const auto used = [&](uint32_t num_gpus, uint32_t num_cores) {
    ExampleSnapshot example(1, num_gpus, num_cores);
    for (int j = 0; j < 12; ++j) AddPsJob(kind, 1000, &example);
    const AllocationPlan plan = CreateAiturbo().value()->Decide(example.snapshot).value();
    ExpectLegal(example.snapshot, plan);
    Resources sum;
    for (const JobGrant& grant : plan.jobs) {
      sum = sum + grant.resources;
      EXPECT_EQ(grant.config.has_value(), !grant.nodes.empty());
    }
    return sum;
  };
  const Resources few_gpus = used(4, 400);
  EXPECT_EQ(few_gpus.num_gpus, 4u);
  EXPECT_GT(few_gpus.num_cores, 36u);
  const Resources few_cores = used(48, 30);
  EXPECT_GE(few_cores.num_gpus, 11u);
  EXPECT_GT(few_cores.num_cores, 24u);
}

}  // namespace
}  // namespace fairlead::scheduling::aiturbo
