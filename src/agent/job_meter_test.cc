#include "agent/job_meter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/random.h"

namespace fairlead::agent {
namespace {

// A job on 2 GPUs here: iterations of 0.5 s, of which 0.3 s are computing (1e12 FLOP) and 0.2 s sending 40 MB over two
// connections, 30 + 10; samples at odd instants about every 17 ms.
struct SimulatedJob {
  static constexpr double kIteration = 0.5;
  static constexpr double kCompute = 0.3;

  // Of one second's sum at time t: what whole iterations and the present one have done.
  static double Done(double t, double from, double to) {
    const double whole = std::floor(t / kIteration);
    const double part = t - whole * kIteration;
    return whole + std::clamp((part - from) / (to - from), 0.0, 1.0);
  }
  static double Sent(double t) { return Done(t, kCompute, kIteration); }
  static double Computed(double t) { return Done(t, 0, kCompute); }
};

std::vector<controller::JobMeasured> Simulate(JobMeter* meter, double end, bool with_gpus) {
  Random random(3);
  std::vector<controller::JobMeasured> reports;
  for (double t = 0.1; t < end; t += random.Uniform(0.012, 0.022)) {
    const SimTime at = SimTime::FromSeconds(Seconds(t));
    const JobMeter::ConnectionSum sums[] = {{5, 30e6 * SimulatedJob::Sent(t)}, {9, 10e6 * SimulatedJob::Sent(t)}};
    meter->AddBytes(at, "gpt", sums);
    const GpuSums gpus[] = {{.job = "gpt",
                             .num_gpus = 2,
                             .flop = Flop(1e12 * SimulatedJob::Computed(t)),
                             .busy = Seconds(2 * SimulatedJob::kCompute * SimulatedJob::Computed(t))}};
    if (with_gpus) meter->AddGpus(at, gpus);
    for (auto& report : meter->Report(at)) reports.push_back(report);
  }
  return reports;
}

TEST(JobMeter, FindsIterationsWorkAndBytes) {
  JobMeter meter({});
  const auto reports = Simulate(&meter, 20, true);
  // Every 3 s from 0.1 s on, of windows of at least 9 s: at 9.1, 12.1, 15.1 and 18.1 s.
  ASSERT_EQ(reports.size(), 4u);
  for (const auto& report : reports) {
    EXPECT_EQ(report.job, "gpt");
    EXPECT_EQ(report.num_gpus, 2u);
    EXPECT_EQ(report.connections, (std::vector<uint64_t>{5, 9}));
    const double n = 9 / SimulatedJob::kIteration;  // iterations in the shortest window: errors of up to 1/n
    EXPECT_NEAR(report.profile.iteration_time.value(), 0.5, 0.02);
    EXPECT_NEAR(report.profile.work.value(), 1e12, 1e12 / n);
    EXPECT_NEAR(report.profile.compute_time.value(), 0.3, 0.3 / n);
    ASSERT_EQ(report.profile.flow_bytes.size(), 2u);
    EXPECT_NEAR(report.profile.flow_bytes[0].value(), 30e6, 30e6 / n);
    EXPECT_NEAR(report.profile.flow_bytes[1].value(), 10e6, 10e6 / n);
  }
}

// A job that sends without pauses, with all the noise of real counters: bytes come unevenly, samples at odd instants,
// and emulated GPUs count at the end of each stretch of computing.
TEST(JobMeter, SeesIterationsOfAJobThatAlwaysSends) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    JobMeter meter({});
    std::vector<controller::JobMeasured> reports;
    double bytes = 0;
    double iteration_end = 0;
    double computed = 0;
    double before = 0;
    for (double t = 0.1; t < 14; t += random.Uniform(0.012, 0.04)) {
      bytes += (t - before) * 100e6 * random.Uniform(0.5, 1.5);
      before = t;
      while (t >= iteration_end + 0.2) {
        // Iterations of 0.6 s and 2 % more or less; 0.2 s of them are computing.
        computed += 1;
        iteration_end += 0.6 * random.Uniform(0.98, 1.02);
      }
      const SimTime at = SimTime::FromSeconds(Seconds(t));
      const JobMeter::ConnectionSum sums[] = {{5, bytes}};
      meter.AddBytes(at, "busy", sums);
      const GpuSums gpus[] = {
          {.job = "busy", .num_gpus = 1, .flop = Flop(1e12 * computed), .busy = Seconds(0.2 * computed)}};
      meter.AddGpus(at, gpus);
      for (auto& report : meter.Report(at)) reports.push_back(report);
    }
    ASSERT_FALSE(reports.empty());
    const model::MeasuredProfile& profile = reports.back().profile;  // of a full window: 10 s, 16 iterations
    EXPECT_TRUE(profile.is_period_known) << "seed " << seed;
    EXPECT_NEAR(profile.iteration_time.value(), 0.6, 0.02) << "seed " << seed;
    EXPECT_NEAR(profile.work.value(), 1e12, 1e12 / 16) << "seed " << seed;
    EXPECT_NEAR(profile.compute_time.value(), 0.2, 0.2 / 8) << "seed " << seed;
  }
}

// What a busy machine makes of a job that sends without pauses and computes for 20 ms of each 0.41 s: samples come
// `gap` seconds after one another, or less, or more. Returns: how many reports say what an iteration is, and how many
// of these are off by more than 5 %.
std::pair<int, int> CountPeriods(double gap) {
  int num_known = 0, num_wrong = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    JobMeter meter({});
    double iteration_end = 0, computed = 0, bytes = 0, before = 0;
    for (double t = 0.1; t < 20; t += gap * random.Uniform(0.2, 1.8)) {
      bytes += (t - before) * 100e6 * random.Uniform(0.8, 1.2);
      before = t;
      for (; t >= iteration_end + 0.02; ++computed) iteration_end += 0.41 * random.Uniform(0.99, 1.01);
      const SimTime at = SimTime::FromSeconds(Seconds(t));
      const JobMeter::ConnectionSum sums[] = {{5, bytes}};
      meter.AddBytes(at, "busy", sums);
      const GpuSums gpus[] = {
          {.job = "busy", .num_gpus = 1, .flop = Flop(1e12 * computed), .busy = Seconds(0.02 * computed)}};
      meter.AddGpus(at, gpus);
      for (const auto& report : meter.Report(at)) {
        if (!report.profile.is_period_known) continue;
        ++num_known;
        num_wrong += std::abs(report.profile.iteration_time.value() / 0.41 - 1) > 0.05 ? 1 : 0;
      }
    }
  }
  return {num_known, num_wrong};
}

TEST(JobMeter, SamplesThatAreTooRareSayNothing) {
  const int all = CountPeriods(0.02).first;
  EXPECT_GE(all, 3 * 40);
  for (const double gap : {0.02, 0.04, 0.06, 0.1, 0.2, 0.3, 0.4, 0.6, 1.0}) {
    const auto [num_known, num_wrong] = CountPeriods(gap);
    EXPECT_LE(num_wrong, all / 50) << "samples each " << gap << " s: " << num_known << " of " << all;
    if (gap < 0.07) {
      EXPECT_GE(num_known, all * 9 / 10) << gap;
    }
  }
}

// GPUs of a job that sends without pauses, whose counters are as new as their last reading, each 0.1 s as NVML's or
// each 5 s as an exporter's. Args: busy_share: while it computes, 0.6 s of each `iteration_s`.
std::vector<model::MeasuredProfile> ProfilesByCounters(double read_each_s, double iteration_s, double busy_share) {
  Random random(5);
  JobMeter meter({});
  std::vector<model::MeasuredProfile> profiles;
  double bytes = 0, before = 0;
  for (double t = 0.1; t < 40; t += random.Uniform(0.019, 0.023)) {
    bytes += (t - before) * 100e6 * random.Uniform(0.9, 1.1);
    before = t;
    const double read = std::floor(t / read_each_s) * read_each_s;
    const double whole = std::floor(read / iteration_s);
    const double busy = busy_share * (0.6 * whole + std::min(0.6, read - whole * iteration_s));
    const SimTime at = SimTime::FromSeconds(Seconds(t));
    const JobMeter::ConnectionSum sums[] = {{5, bytes}};
    meter.AddBytes(at, "gpt", sums);
    const GpuSums gpus[] = {{.job = "gpt",
                             .num_gpus = 1,
                             .flop = Flop(1e12 * busy),
                             .busy = Seconds(busy),
                             .resolution = Seconds(read_each_s)}};
    meter.AddGpus(at, gpus);
    for (const auto& report : meter.Report(at)) profiles.push_back(report.profile);
  }
  return profiles;
}

TEST(JobMeter, TheStepsOfCountersAreNoIterations) {
  for (const double busy_share : {0.3, 0.7, 1.0}) {
    for (const model::MeasuredProfile& profile : ProfilesByCounters(0.1, 0.6, busy_share)) {
      EXPECT_FALSE(profile.is_period_known) << profile.iteration_time.value() << " s, computes always";
      EXPECT_NEAR(profile.work.value() / profile.iteration_time.value(), 1e12 * busy_share, 3e10);
    }
    const auto seen = ProfilesByCounters(0.1, 1.1, busy_share);
    ASSERT_FALSE(seen.empty());
    for (const model::MeasuredProfile& profile : seen) {
      EXPECT_TRUE(profile.is_period_known);
      EXPECT_NEAR(profile.iteration_time.value(), 1.1, 0.05);
    }
    for (const model::MeasuredProfile& profile : ProfilesByCounters(5, 1.1, busy_share)) {
      EXPECT_FALSE(profile.is_period_known) << profile.iteration_time.value() << " s, by an exporter";
    }
  }
}

TEST(JobMeter, ReportsNoJobsWithoutGpuCounters) {
  JobMeter meter({});
  EXPECT_TRUE(Simulate(&meter, 14, false).empty());
}

TEST(JobMeter, AJobThatNeverSendsIsOneIteration) {
  JobMeter meter({});
  std::vector<controller::JobMeasured> reports;
  for (int i = 0; i < 700; ++i) {
    const SimTime at(i * int64_t{20'000'000});
    const JobMeter::ConnectionSum sums[] = {{5, 77}};
    const GpuSums gpus[] = {{.job = "mute", .num_gpus = 1, .flop = Flop(1e9 * i), .busy = Seconds(0.02 * i)}};
    meter.AddBytes(at, "mute", sums);
    meter.AddGpus(at, gpus);
    for (auto& report : meter.Report(at)) reports.push_back(report);
  }
  ASSERT_FALSE(reports.empty());
  // 1e9 FLOP in each 20 ms, whatever the window.
  const model::MeasuredProfile& profile = reports.back().profile;
  EXPECT_NEAR(profile.work.value() / profile.iteration_time.value(), 5e10, 1e8);
}

TEST(JobMeter, EndsWithTheJob) {
  JobMeter meter({});
  Simulate(&meter, 4, true);
  EXPECT_NE(meter.NextDue(), SimTime::Never());
  meter.AddBytes(SimTime::FromSeconds(Seconds(5)), "gpt", {});
  EXPECT_EQ(meter.NextDue(), SimTime::Never());
}

// The clock of samples may jump by any amount, and sums may fall when counters restart.
TEST(JobMeter, SurvivesOddSamples) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    JobMeter meter({.window = SimDuration(1'000'000'000)});
    SimTime now;
    for (int i = 0; i < 300; ++i) {
      now = now +
            SimDuration(static_cast<int64_t>(random.Below(2) == 0 ? random.Below(1 << 24) : random.Below(1ull << 33)));
      const JobMeter::ConnectionSum sums[] = {{random.Below(3), random.Uniform(0, 1e9)}};
      meter.AddBytes(now, "x", sums);
      const GpuSums gpus[] = {
          {.job = "x", .num_gpus = 1, .flop = Flop(random.Uniform()), .busy = Seconds(random.Uniform())}};
      meter.AddGpus(now, gpus);
      for (const auto& report : meter.Report(now)) {
        EXPECT_TRUE(std::isfinite(report.profile.work.value()));
        EXPECT_GT(report.profile.iteration_time.value(), 0);
        EXPECT_EQ(report.connections.size(), report.profile.flow_bytes.size());
      }
    }
  }
}

}  // namespace
}  // namespace fairlead::agent
