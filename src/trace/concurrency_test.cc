#include "trace/concurrency.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace fairlead::trace {
namespace {

TraceJob MakeJob(double submit_s, double duration_s, uint32_t gpus) {
  return {.id = "j", .submit_s = submit_s, .duration_s = duration_s, .gpus = gpus, .gpus_per_host = gpus, .model = {}};
}

TEST(ConcurrencyTest, TwoJobsThatOverlap) {
  // 8 GPUs over [0, 60), 16 over [30, 90); nothing over [90, 100). Jobs: (30 + 2*30 + 30) / 100, GPUs: (60*8 + 60*16) /
  // 100.
  const std::vector<TraceJob> jobs = {MakeJob(0, 60, 8), MakeJob(30, 60, 16), MakeJob(10, 60, 0)};
  const Concurrency c = MeasureConcurrency(jobs, 100, 50);
  EXPECT_DOUBLE_EQ(c.jobs_mean, 1.2);
  EXPECT_DOUBLE_EQ(c.gpus_mean, 14.4);
  EXPECT_EQ(c.jobs_max, 2u);
  EXPECT_EQ(c.gpus_max, 24u);
  ASSERT_EQ(c.bin_jobs.size(), 2u);
  EXPECT_DOUBLE_EQ(c.bin_jobs[0], 1.4) << "one for 30 s, two for 20 s";
  EXPECT_DOUBLE_EQ(c.bin_gpus[1], (10 * 24 + 30 * 16) / 50.0);
}

TEST(ConcurrencyTest, AJobDoesNotMeetTheOneThatStartsAtItsEnd) {
  const std::vector<TraceJob> jobs = {MakeJob(0, 10, 8), MakeJob(10, 10, 8), MakeJob(5, 0, 8)};
  EXPECT_EQ(MeasureConcurrency(jobs, 20).jobs_max, 1u);
}

TEST(ConcurrencyTest, WhatLiesBehindTheEndDoesNotCount) {
  const std::vector<TraceJob> jobs = {MakeJob(5, 1000, 8), MakeJob(10, 10, 100)};
  const Concurrency c = MeasureConcurrency(jobs, 10);
  EXPECT_DOUBLE_EQ(c.jobs_mean, 0.5);
  EXPECT_EQ(c.gpus_max, 8u);
}

TEST(ConcurrencyTest, AgreesWithCountingSecondBySecond) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    const size_t end = 1 + random.Below(300);
    std::vector<TraceJob> jobs(random.Below(30));
    std::vector<uint64_t> num_jobs(end), num_gpus(end);
    for (TraceJob& job : jobs) {
      job = MakeJob(static_cast<double>(random.Below(400)), static_cast<double>(random.Below(200)),
                    static_cast<uint32_t>(random.Below(5)));
      for (auto s = static_cast<size_t>(job.submit_s);
           s < end && static_cast<double>(s) < job.submit_s + job.duration_s; ++s) {
        num_jobs[s] += job.gpus > 0;
        num_gpus[s] += job.gpus;
      }
    }
    const Concurrency c = MeasureConcurrency(jobs, static_cast<double>(end), static_cast<double>(1 + random.Below(60)));
    double jobs_sum = 0, gpus_sum = 0;
    for (size_t s = 0; s < end; ++s) {
      jobs_sum += static_cast<double>(num_jobs[s]);
      gpus_sum += static_cast<double>(num_gpus[s]);
    }
    EXPECT_EQ(c.jobs_max, *std::max_element(num_jobs.begin(), num_jobs.end())) << "seed " << seed;
    EXPECT_EQ(c.gpus_max, *std::max_element(num_gpus.begin(), num_gpus.end())) << "seed " << seed;
    EXPECT_NEAR(c.jobs_mean, jobs_sum / static_cast<double>(end), 1e-9) << "seed " << seed;
    EXPECT_NEAR(c.gpus_mean, gpus_sum / static_cast<double>(end), 1e-9) << "seed " << seed;
  }
}

}  // namespace
}  // namespace fairlead::trace
