// Themis: the worked example of its specification, and laws of finish-time fairness.
#include "scheduling/themis/themis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "scheduling/allocation_example.h"

namespace fairlead::scheduling::themis {
namespace {

// One GPU. d = 500 + 750 / 0.5 = 2000 and 100 / 0.5 = 200. At rho = 1.15937 the jobs need 750 / (2318.74 - 1000) =
// 0.56873 and 100 / 231.874 = 0.43127 of the time: together all of it.
TEST(ThemisTest, WorkedExample) {
  const std::vector<ThemisJob> jobs = {
      {.num_gpus = 1, .speeds = {1}, .remaining = 750, .age_s = 1000, .isolated_s = 500, .isolated_speed = 0.5},
      {.num_gpus = 1, .speeds = {1}, .remaining = 100, .age_s = 0, .isolated_s = 0, .isolated_speed = 0.5}};
  const auto shares = SolveFinishTimeShares(jobs, {1}).value();
  EXPECT_NEAR(shares.value, 1.15937, 1e-5);
  EXPECT_NEAR(shares.shares[0][0], 0.56873, 1e-5);
  EXPECT_NEAR(shares.shares[1][0], 0.43127, 1e-5);
}

// 4 and 2 GPUs for 3 jobs of 2 GPUs: 4/6 and 2/6 of the time, 1 together; for one job 2 and 1, scaled down to 2/3 and
// 1/3.
TEST(ThemisTest, IsolatedSpeedIsThatOfAnEqualShare) {
  EXPECT_NEAR(IsolatedSpeed(2, {3, 9}, {4, 2}, 3), 3 * 4.0 / 6 + 9 * 2.0 / 6, 1e-12);
  EXPECT_NEAR(IsolatedSpeed(2, {3, 9}, {4, 2}, 1), 3 * 2.0 / 3 + 9 / 3.0, 1e-12);
  EXPECT_NEAR(IsolatedSpeed(2, {3, 9}, {4, 2}, 6), 3 * 4.0 / 12 + 9 * 2.0 / 12, 1e-12);
}

std::vector<ThemisJob> DrawThemisJobs(const std::vector<double>& counts, Random* random) {
  std::vector<ThemisJob> jobs(1 + random->Below(12));
  for (ThemisJob& job : jobs) {
    job.num_gpus = static_cast<double>(1 + random->Below(4));
    for (size_t t = 0; t < counts.size(); ++t) job.speeds.push_back(random->Uniform(0.1, 10));
    job.remaining = random->Uniform(1, 1e5);
    job.age_s = random->Uniform() < 0.3 ? 0 : random->Uniform(0, 1e5);
    job.isolated_s = random->Uniform(0, 1) * job.age_s;
    job.isolated_speed = IsolatedSpeed(job.num_gpus, job.speeds, counts, jobs.size());
  }
  return jobs;
}

double WorstRho(const std::vector<ThemisJob>& jobs, const std::vector<std::vector<double>>& shares) {
  double worst = 0;
  for (size_t j = 0; j < jobs.size(); ++j) {
    double speed = 0;
    for (size_t t = 0; t < shares[j].size(); ++t) speed += jobs[j].speeds[t] * shares[j][t];
    const double alone_s = jobs[j].isolated_s + jobs[j].remaining / jobs[j].isolated_speed;
    worst = std::max(worst, (jobs[j].age_s + jobs[j].remaining / speed) / alone_s);
  }
  return worst;
}

// The shares are feasible and reach the value; equal shares are no better, nor are any of a hundred other feasible
// shares drawn at random.
TEST(ThemisTest, NoOtherSharesAreFairer) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    std::vector<double> counts(1 + random.Below(3));
    for (double& count : counts) count = static_cast<double>(4 + random.Below(8));
    const std::vector<ThemisJob> jobs = DrawThemisJobs(counts, &random);
    const auto result = SolveFinishTimeShares(jobs, counts).value();
    std::vector<double> used(counts.size());
    for (size_t j = 0; j < jobs.size(); ++j) {
      double time = 0;
      for (size_t t = 0; t < counts.size(); ++t) {
        time += result.shares[j][t];
        used[t] += jobs[j].num_gpus * result.shares[j][t];
      }
      EXPECT_LE(time, 1 + 1e-7);
    }
    for (size_t t = 0; t < counts.size(); ++t) EXPECT_LE(used[t], counts[t] + 1e-7);
    EXPECT_LE(WorstRho(jobs, result.shares), result.value * (1 + 1e-6)) << "seed " << seed;
    for (int other = 0; other < 100; ++other) {
      std::vector<std::vector<double>> shares;
      std::vector<double> taken(counts.size());
      for (const ThemisJob& job : jobs) {
        std::vector<double> own;
        for (size_t t = 0; t < counts.size(); ++t) {
          own.push_back((other == 0 ? 1 : random.Uniform(0.01, 1)) / static_cast<double>(counts.size()));
          taken[t] += job.num_gpus * own.back();
        }
        shares.push_back(own);
      }
      double excess = 1;
      for (size_t t = 0; t < counts.size(); ++t) excess = std::max(excess, taken[t] / counts[t]);
      for (auto& own : shares) {
        for (double& share : own) share /= excess;
      }
      EXPECT_GE(WorstRho(jobs, shares), result.value * (1 - 1e-6)) << "seed " << seed;
    }
  }
}

// One GPU. Job 0 has waited for 10,000 s with 1000 s to do, job 1 came just now: the first is served, and what it then
// does counts as done alone at half speed: 360 s at speed 1 are 720 s.
TEST(ThemisTest, TheJobThatWaitedLongestIsServedAndItsProgressRemembered) {
  ExampleSnapshot example(1, 1);
  example.AddJob(1, 1, 1000);
  example.AddJob(1, 1, 1000).submission = example.snapshot.now;
  const auto policy = CreateThemis().value();
  const AllocationPlan first = policy->Decide(example.snapshot).value();
  EXPECT_THAT(GpusOf(first), testing::ElementsAre(1, 0));
  EXPECT_EQ(first.jobs[0].memory.isolated, (IsolatedProgress{0, 1000, 0.5}));
  example.Apply(first, 360);
  const AllocationPlan second = policy->Decide(example.snapshot).value();
  EXPECT_EQ(second.jobs[0].memory.isolated, (IsolatedProgress{720, 640, 0.5}));
  EXPECT_EQ(second.jobs[1].memory.isolated, (IsolatedProgress{0, 1000, 0.5}));
}

}  // namespace
}  // namespace fairlead::scheduling::themis
