// Forecasts from loss logs, for jobs that train alone and do not stop.
#include "sim/elastic/loss_forecasts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/statistics.h"
#include "sim/elastic/measured_job.h"

namespace fairlead::sim {
namespace {

constexpr uint32_t kNumJobs = 60;
constexpr double kIntervalS = 240;

// 0.1 s an iteration: each takes 20,000 s, so that a log's epoch takes as long as an interval or longer.
OwnedWorkload LongJobs() {
  OwnedWorkload workload;
  for (uint32_t j = 0; j < kNumJobs; ++j) {
    EXPECT_TRUE(AddMeasuredJob({std::to_string(j), "resnet", 0, 4, {}, 64, 200000, {{4, 10}}}, &workload).ok());
  }
  return workload;
}

struct Seen {
  std::vector<double> log_errors;  // ln(forecast / truth) of jobs that are predictable when half is done
  std::vector<double> log_sigmas;  // of these
  uint32_t num_early = 0;          // predictable after the first interval
};

// One job after the other, so that later forecasts know the errors of earlier ones.
Seen Train(const OwnedWorkload& workload, LossForecasts* forecasts) {
  Seen seen;
  const ElasticCluster cluster;
  for (uint32_t j = 0; j < workload.jobs.size(); ++j) {
    ElasticJob job(workload.jobs[j], cluster, {}, j);
    job.Reallocate({{{HostId(0), 4, 0}}, std::nullopt}, 0);
    bool is_past_half = false;
    for (double now_s = 0; !job.is_finished(); now_s += kIntervalS) {
      job.Advance(now_s, kIntervalS, 600);
      forecasts->Observe(j, job, now_s + kIntervalS);
      const auto forecast = forecasts->Remaining(j);
      if (now_s == 0) seen.num_early += forecast ? 1 : 0;
      if (is_past_half || job.run().done_share() < 0.5) continue;
      is_past_half = true;
      if (!forecast) continue;
      seen.log_errors.push_back(std::log(forecast->iterations / job.run().RemainingIterations()));
      seen.log_sigmas.push_back(forecast->log_sigma);
    }
  }
  return seen;
}

// Two jobs of five have smooth curves, and a third of them says nothing to the end (job_generator.h).
TEST(LossForecastsTest, CurvesThatSaySomethingAreBelievedAndTellTheEnd) {
  const OwnedWorkload workload = LongJobs();
  auto forecasts = LossForecasts::Create(workload.jobs, 1, 120).value();
  const Seen seen = Train(workload, &forecasts);
  EXPECT_EQ(seen.num_early, 0u) << "an epoch says nothing";
  EXPECT_GT(seen.log_errors.size(), kNumJobs / 5);
  EXPECT_LT(seen.log_errors.size(), 3 * kNumJobs / 4);
  std::vector<double> sizes;
  for (const double error : seen.log_errors) sizes.push_back(std::abs(error));
  EXPECT_LT(Median(sizes), 0.15);
  EXPECT_GE(forecasts.num_flips(), seen.log_errors.size());
  // As sure as it says, once there were some to learn from: nine of ten, or so, within what is said of eight.
  uint32_t num_inside = 0;
  uint32_t num_judged = 0;
  for (size_t i = 5; i < seen.log_errors.size(); ++i) {
    ++num_judged;
    num_inside += std::abs(seen.log_errors[i]) <= 1.2816 * seen.log_sigmas[i] ? 1 : 0;
  }
  EXPECT_GE(num_inside, 0.65 * num_judged);
}

TEST(LossForecastsTest, TheSameSeedSaysTheSame) {
  const OwnedWorkload workload = LongJobs();
  auto first = LossForecasts::Create(workload.jobs, 7, 40).value();
  auto second = LossForecasts::Create(workload.jobs, 7, 40).value();
  EXPECT_EQ(Train(workload, &first).log_errors, Train(workload, &second).log_errors);
}

TEST(LossForecastsTest, JobsThatTeachNothingAreRefused) {
  const OwnedWorkload workload = LongJobs();
  EXPECT_FALSE(LossForecasts::Create(workload.jobs, 1, 0).ok());
}

}  // namespace
}  // namespace fairlead::sim
