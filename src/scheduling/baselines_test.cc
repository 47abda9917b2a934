// The policies that AITurbo is compared with: each against its definition, or against exhaustive search.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <memory>

#include "scheduling/allocation_example.h"
#include "scheduling/drf/drf.h"
#include "scheduling/fcfs/fcfs.h"
#include "scheduling/gavel/gavel.h"
#include "scheduling/gittins/gittins.h"
#include "scheduling/las/las.h"
#include "scheduling/optimus/optimus.h"
#include "scheduling/pollux/pollux.h"
#include "scheduling/srtf/srtf.h"

namespace fairlead::scheduling {
namespace {

using testing::ElementsAre;

std::vector<uint64_t> Decide(const AllocationPolicy& policy, const ExampleSnapshot& example) {
  return GpusOf(policy.Decide(example.snapshot).value());
}

// 4 GPUs; 2, 4, 2 asked for: the second doesn't fit beside the first.
TEST(FcfsTest, AMisfitBlocksOrIsSkipped) {
  ExampleSnapshot example(1, 4);
  for (const uint32_t asked : {2, 4, 2}) example.AddJob(4, 1, 10).requested = asked - 1;
  const auto strict = fcfs::CreateFcfs(fcfs::Misfit::kBlocks);
  EXPECT_THAT(Decide(*strict, example), ElementsAre(2, 0, 0));
  EXPECT_EQ(strict->Decide(example.snapshot)->jobs[2].reason.cause, PendingCause::kBehind);
  EXPECT_THAT(Decide(*fcfs::CreateFcfs(fcfs::Misfit::kSkipped), example), ElementsAre(2, 0, 2));
}

TEST(FcfsTest, NoJobIsStopped) {
  ExampleSnapshot example(1, 4);
  example.AddJob(4, 1, 10).requested = 3;
  example.AddJob(2, 1, 10).current = {{HostId(0), 2, 0}};
  EXPECT_THAT(Decide(*fcfs::CreateFcfs(fcfs::Misfit::kSkipped), example), ElementsAre(0, 2));
}

// On 4 GPUs 40 iterations of 1/4 s take 10 s, 40 GPU-s; on 1 GPU 20 of 1 s take 20 s, 20 GPU-s.
TEST(SrtfTest, TimeAndServiceOrderDifferently) {
  ExampleSnapshot example(1, 4);
  example.AddJob(4, 1, 40).requested = 3;
  example.AddJob(1, 1, 20);
  EXPECT_THAT(Decide(*srtf::CreateSrtf(srtf::Key::kTime), example), ElementsAre(4, 0));
  EXPECT_THAT(Decide(*srtf::CreateSrtf(srtf::Key::kService), example), ElementsAre(0, 1));
}

// One has run for 5000 s and counts as 2400 s, its level; one has not run and counts as 600 s.
TEST(SrtfTest, UnknownJobsCountAsIfTheyHadAsMuchLeftAsTheyHad) {
  for (const auto& [known, expected] :
       {std::pair(1e9, std::vector<uint64_t>{1, 1, 0}), std::pair(1000.0, std::vector<uint64_t>{0, 1, 1})}) {
    ExampleSnapshot example(1, 2);
    for (const double executed_s : {5000, 0}) {
      AllocationJob& job = example.AddJob(1, 1, 0);
      job.is_predictable = false;
      job.executed_s = executed_s;
    }
    example.AddJob(1, 1, known);
    EXPECT_EQ(Decide(*srtf::CreateSrtf(srtf::Key::kTime), example), expected) << known;
  }
}

// 100 GPU-s: 10 s on 10 GPUs sink, 9 s don't.
TEST(LasTest, JobsSinkAtTheLimit) {
  const auto policy = las::CreateLas({.limits_gpu_s = {100}}).value();
  for (const auto& [executed, queue] : {std::pair(9.0, 0u), std::pair(10.0, 1u)}) {
    ExampleSnapshot example(1, 10);
    AllocationJob& old = example.AddJob(10, 1, 10);
    old.requested = 9;
    old.executed_s = executed;
    example.AddJob(10, 1, 10).requested = 9;
    const AllocationPlan plan = policy->Decide(example.snapshot).value();
    EXPECT_EQ(plan.jobs[0].memory.queue, queue);
    EXPECT_EQ(plan.jobs[0].nodes.empty(), queue == 1);
  }
}

// Executed 10 s, waiting for 20 s or more, K = 2.
TEST(LasTest, JobsThatWaitLongRise) {
  const auto policy = las::CreateLas({.limits_gpu_s = {5}, .promote_knob = 2}).value();
  for (const auto& [waited, queue] : {std::pair(19, 1u), std::pair(20, 0u)}) {
    ExampleSnapshot example(1, 1);
    AllocationJob& job = example.AddJob(1, 1, 10);
    job.executed_s = 10;
    job.memory.queue = 1;
    job.waiting_since = example.snapshot.now - SimDuration::FromSeconds(Seconds(waited));
    EXPECT_EQ(policy->Decide(example.snapshot)->jobs[0].memory.queue, queue);
  }
}

double GittinsByDefinition(const std::vector<double>& samples, double quantum, double attained) {
  double num_within = 0;
  double spent = 0;
  for (const double s : samples) {
    if (s <= attained) continue;
    num_within += s - attained <= quantum ? 1 : 0;
    spent += std::min(s - attained, quantum);
  }
  return spent > 0 ? num_within / spent : 0;
}

TEST(GittinsTest, EqualsTheDefinition) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    std::vector<double> samples(1 + random.Below(200));
    for (double& sample : samples) sample = 1 + random.Exponential(1000);
    const double quantum = random.Uniform(1, 2000);
    const gittins::GittinsIndex index(samples, quantum);
    for (int i = 0; i < 50; ++i) {
      const double attained = random.Uniform(0, 5000);
      EXPECT_NEAR(index.At(attained), GittinsByDefinition(samples, quantum, attained), 1e-9);
    }
    EXPECT_EQ(index.At(1e9), 0);
  }
}

// Law 14. Quantiles of an exponential of mean 1000: memoryless, so the index is 1 / 1000 wherever samples are dense. Of
// a Pareto distribution the hazard falls, and so does the index: the order of least attained service.
TEST(GittinsTest, ExponentialIsConstantAndParetoFalls) {
  constexpr int kSamples = 20000;
  std::vector<double> exponential;
  std::vector<double> pareto;
  for (int i = 0; i < kSamples; ++i) {
    const double left = 1 - (i + 0.5) / kSamples;
    exponential.push_back(-1000 * std::log(left));
    pareto.push_back(100 / left);
  }
  const gittins::GittinsIndex flat(exponential, 500);
  const gittins::GittinsIndex falling(pareto, 500);
  double last = std::numeric_limits<double>::infinity();
  for (double attained = 100; attained < 3000; attained += 100) {
    EXPECT_NEAR(flat.At(attained), 1e-3, 3e-5);
    EXPECT_LE(falling.At(attained), last);
    last = falling.At(attained);
  }
}

// The least total of remaining times over all ways to share, by trying them all.
double BestTotal(const AllocationSnapshot& snapshot, size_t job, uint32_t gpus) {
  if (job == snapshot.jobs.size()) return 0;
  double best = std::numeric_limits<double>::infinity();
  const auto& sizes = snapshot.jobs[job].sizes;
  for (uint32_t k = 1; k <= gpus && k <= sizes.size(); ++k) {
    best = std::min(best, snapshot.jobs[job].remaining_iterations * sizes[k - 1].iteration_s +
                              BestTotal(snapshot, job + 1, gpus - k));
  }
  return best;
}

// T(k) = k^-p is convex, so greedy is optimal.
TEST(OptimusTest, EqualsExhaustiveSearchOnConvexTimes) {
  const auto policy = optimus::CreateOptimus();
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    ExampleSnapshot example(1, static_cast<uint32_t>(3 + random.Below(8)));
    for (int j = 0; j < 3; ++j) example.AddJob(8, random.Uniform(0.1, 1), random.Uniform(10, 1000));
    const std::vector<uint64_t> gpus = Decide(*policy, example);
    double total = 0;
    for (size_t j = 0; j < gpus.size(); ++j) {
      ASSERT_GE(gpus[j], 1u);
      const AllocationJob& job = example.snapshot.jobs[j];
      total += job.remaining_iterations * job.sizes[gpus[j] - 1].iteration_s;
    }
    EXPECT_NEAR(total, BestTotal(example.snapshot, 0, example.snapshot.nodes[HostId(0)].num_gpus), 1e-9 * total);
  }
}

// Speed = servers-bound: T = 1 / workers + 0.1 / servers. Gains per dominant share choose worker first, server later.
TEST(OptimusTest, GrowsServersAndWorkers) {
  PsWorkerJob ps;
  ps.limits.max = {.num_ps = 4, .num_workers = 4, .cores_per_ps = 1, .cores_per_worker = 1, .num_gpus = 0};
  ps.iteration_s = [](const PsWorkerConfig& c) { return 1.0 / c.num_workers + 0.1 / c.num_ps; };
  ExampleSnapshot example(1, 0, 6);
  example.AddJobWith({{0, 2, 1}}, 100).ps_worker = &ps;
  const AllocationPlan plan = optimus::CreateOptimus()->Decide(example.snapshot).value();
  // Six cores: from 1 + 1, workers gain 0.5, 0.167, 0.083; servers 0.05, 0.017.
  EXPECT_EQ(plan.jobs[0].config->num_workers, 4u);
  EXPECT_EQ(plan.jobs[0].config->num_ps, 2u);
}

// Law 15.
TEST(DrfTest, EqualJobsDifferByAtMostOneUnit) {
  for (uint32_t num_jobs = 1; num_jobs <= 12; ++num_jobs) {
    ExampleSnapshot example(4, 4);
    for (uint32_t j = 0; j < num_jobs; ++j) example.AddJob(16, 0.5, 10);
    const std::vector<uint64_t> gpus = Decide(*drf::CreateDrf(), example);
    EXPECT_LE(std::ranges::max(gpus) - std::ranges::min(gpus), 1u);
  }
}

// Nine CPUs and 18 GB, a unit of A takes 1 and 4, one of B 3 and 1: A gets 3 units, B 2. GPUs represent the memory.
TEST(DrfTest, ExampleOfThePaper) {
  ExampleSnapshot example(1, 18, 9);
  std::vector<JobSize> a;
  std::vector<JobSize> b;
  for (uint32_t k = 1; k <= 5; ++k) {
    a.push_back({4 * k, k, 1});
    b.push_back({k, 3 * k, 1});
  }
  example.AddJobWith(a, 1);
  example.AddJobWith(b, 1);
  const AllocationPlan plan = drf::CreateDrf()->Decide(example.snapshot).value();
  EXPECT_EQ(plan.jobs[0].resources, (Resources{12, 3}));
  EXPECT_EQ(plan.jobs[1].resources, (Resources{2, 6}));
}

// Two jobs of one GPU, one GPU of each type; the second type is 4 times as fast for job 0, as fast for job 1. Fair
// speeds 2.5 and 1. Job 0 on the fast one: 4 / 2.5 = 1.6; job 1 alone on the slow one: 1. Giving job 1 all its time is
// all that it can have, so z = 1.
TEST(GavelTest, SharesOfTwoJobs) {
  const auto shares = gavel::SolveMaxMinShares({{1, 1, {1, 4}}, {1, 1, {1, 1}}}, {1, 1}).value();
  EXPECT_NEAR(shares.value, 1, 1e-8);
  EXPECT_NEAR(shares.shares[1][0] + shares.shares[1][1], 1, 1e-8);
}

// Law 15: feasible, and the worst-off job has at least what equal shares give.
TEST(GavelTest, FeasibleAndNotBelowEqualShares) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    const size_t num_types = 1 + random.Below(3);
    std::vector<double> counts;
    for (size_t t = 0; t < num_types; ++t) counts.push_back(static_cast<double>(1 + random.Below(8)));
    std::vector<gavel::GavelJob> jobs(1 + random.Below(12));
    for (gavel::GavelJob& job : jobs) {
      job.num_gpus = static_cast<double>(1 + random.Below(4));
      for (size_t t = 0; t < num_types; ++t) job.speeds.push_back(random.Uniform(0.1, 10));
    }
    const auto result = gavel::SolveMaxMinShares(jobs, counts).value();
    std::vector<double> used(num_types);
    double gpus_asked = 0;
    double gpus = 0;
    for (const double count : counts) gpus += count;
    for (const gavel::GavelJob& job : jobs) gpus_asked += job.num_gpus;
    for (size_t j = 0; j < jobs.size(); ++j) {
      double time = 0;
      for (size_t t = 0; t < num_types; ++t) {
        EXPECT_GE(result.shares[j][t], -1e-8);
        time += result.shares[j][t];
        used[t] += jobs[j].num_gpus * result.shares[j][t];
      }
      EXPECT_LE(time, 1 + 1e-8);
    }
    for (size_t t = 0; t < num_types; ++t) EXPECT_LE(used[t], counts[t] + 1e-8);
    // X[j][t] = c count_t with c = min(1 / GPUs, 1 / GPUs asked for) gives every job scale * c * GPUs >= c * GPUs.
    const double c = std::min(1 / gpus, 1 / gpus_asked);
    EXPECT_GE(result.value, c * gpus - 1e-8) << "seed " << seed;
  }
}

// The slow GPU goes to the job for which it is as good.
TEST(GavelTest, JobsRunOnTheTypeThatSuitsThem) {
  ExampleSnapshot example(2, 1);
  example.snapshot.nodes[HostId(1)].gpu_type = 1;
  const std::vector<double> likes_fast = {1, 4};
  const std::vector<double> indifferent = {1, 1};
  example.AddJob(1, 1, 10).type_speeds = indifferent;
  example.AddJob(1, 1, 10).type_speeds = likes_fast;
  const AllocationPlan plan = gavel::CreateGavel().value()->Decide(example.snapshot).value();
  EXPECT_EQ(plan.jobs[0].nodes.size(), 1u);
  EXPECT_EQ(plan.jobs[1].nodes.size(), 1u);
  EXPECT_NE(plan.jobs[0].nodes[0].node, plan.jobs[1].nodes[0].node);
  EXPECT_EQ(plan.jobs[0].memory.rounds_on_type.size() + plan.jobs[1].memory.rounds_on_type.size(), 3u);
}

// One GPU, two equal jobs: X = 1/2 each. After the first round job 0 has had 1.5 of 2 rounds, each having started with
// a half, and job 1 a quarter: priorities 2/3 and 2. A third job makes all rounds be forgotten: each has a third of
// the time and of the rounds.
TEST(GavelTest, PrioritiesAreSharesOverTheRoundsReceived) {
  ExampleSnapshot example(1, 1);
  example.AddJob(1, 1, 1e6);
  example.AddJob(1, 1, 1e6);
  const auto policy = gavel::CreateGavel().value();
  const AllocationPlan first = policy->Decide(example.snapshot).value();
  EXPECT_NEAR(first.jobs[0].reason.score, 0.5 / 0.5, 1e-9);
  example.Apply(first, 360);
  const AllocationPlan second = policy->Decide(example.snapshot).value();
  EXPECT_THAT(GpusOf(second), ElementsAre(0, 1));
  EXPECT_NEAR(second.jobs[1].reason.score, 0.5 / 0.25, 1e-9);
  example.Apply(second, 360);
  example.AddJob(1, 1, 1e6);
  const AllocationPlan third = policy->Decide(example.snapshot).value();
  EXPECT_THAT(GpusOf(third), ElementsAre(1, 0, 0));
  EXPECT_NEAR(third.jobs[0].reason.score, 1, 1e-9);
}

// Two GPUs of different types and three jobs. The largest sum is 10 of job 0 on the first and 2.5 of job 2 on the
// second; job 1, slower than job 2 on both, gets nothing. By worst-off jobs each would get something.
TEST(GavelTest, ThroughputIsSummed) {
  const std::vector<ShareJob> jobs = {{1, {10, 1}, 0}, {1, {3, 2}, 0}, {1, {4, 2.5}, 0}};
  const auto shares = SolveLargestSum(jobs, {1, 1}).value();
  EXPECT_NEAR(shares.value, 12.5, 1e-8);
  EXPECT_NEAR(shares.shares[0][0], 1, 1e-8);
  EXPECT_NEAR(shares.shares[2][1], 1, 1e-8);
}

// One GPU for three equal jobs: whatever the sum's optimum is, none is preferred.
TEST(GavelTest, EqualJobsGetEqualShares) {
  const std::vector<ShareJob> jobs(3, {1, {5}, 0});
  const TypeShares solved = SolveLargestSum(jobs, {1}).value();
  for (const auto& own : solved.shares) EXPECT_NEAR(own[0], 1.0 / 3, 1e-9);
}

// Equal jobs, none running: shares differ by at most one GPU, as 1 / x is convex.
TEST(PolluxTest, EqualJobsGetEqualShares) {
  for (uint32_t num_jobs = 1; num_jobs <= 12; ++num_jobs) {
    ExampleSnapshot example(4, 4);
    for (uint32_t j = 0; j < num_jobs; ++j) example.AddJob(16, 0.7, 10);
    const std::vector<uint64_t> gpus = Decide(*pollux::CreatePollux(), example);
    EXPECT_LE(std::ranges::max(gpus) - std::ranges::min(gpus), 1u) << num_jobs;
  }
}

}  // namespace
}  // namespace fairlead::scheduling
