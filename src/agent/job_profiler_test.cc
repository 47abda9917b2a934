#include "agent/job_profiler.h"

#include <gtest/gtest.h>

namespace fairlead::agent {
namespace {

// A job of section 4.2's model alone: compute C, from s*C on `t` seconds of communication, over and over for 30 s.
WindowCounters CountersOf(double compute_s, double start_fraction, double communication_s, double flop, double bytes) {
  WindowCounters counters;
  counters.length = Seconds(30);
  counters.bin = Seconds(1e-3);
  counters.series.assign(30'000, 0.0f);
  const double period_s = std::max(compute_s, start_fraction * compute_s + communication_s);
  for (double start = 0; start < 30; start += period_s) {
    const auto from = static_cast<size_t>((start + start_fraction * compute_s) * 1e3);
    const auto to = static_cast<size_t>((start + start_fraction * compute_s + communication_s) * 1e3);
    for (size_t i = from; i < std::min<size_t>(to, 30'000); ++i) counters.series[i] = static_cast<float>(bytes);
  }
  const double iterations = 30 / period_s;
  counters.flop = Flop(flop * iterations);
  counters.stalled = Seconds((period_s - compute_s) * iterations);
  counters.flow_bytes = {Bytes(bytes * iterations), Bytes(0)};
  return counters;
}

TEST(JobProfilerTest, RecoversTheModel) {
  struct Case {
    double compute_s, start_fraction, communication_s;
  };
  // Bound by communication, by compute, no overlap, almost only communication.
  for (const Case& c : {Case{0.4, 0.5, 0.5}, Case{0.8, 0.25, 0.2}, Case{0.5, 1.0, 0.3}, Case{0.3, 0.2, 0.7}}) {
    const auto profile = MeasureProfile(CountersOf(c.compute_s, c.start_fraction, c.communication_s, 1e15, 2e9));
    ASSERT_TRUE(profile.has_value());
    const double period_s = std::max(c.compute_s, c.start_fraction * c.compute_s + c.communication_s);
    EXPECT_NEAR(profile->iteration_time.value(), period_s, 0.01 * period_s);
    EXPECT_NEAR(profile->compute_time.value(), c.compute_s, 0.01 * period_s);
    EXPECT_NEAR(profile->work.value(), 1e15, 0.01e15);
    ASSERT_EQ(profile->flow_bytes.size(), 2u);
    EXPECT_NEAR(profile->flow_bytes[0].value(), 2e9, 0.02e9);
    EXPECT_EQ(profile->flow_bytes[1].value(), 0);
    // With s the closed form of the iteration comes out again.
    const double rebuilt = std::max(profile->compute_time.value(),
                                    profile->start_fraction * profile->compute_time.value() + c.communication_s);
    EXPECT_NEAR(rebuilt, period_s, 0.02 * period_s);
  }
}

TEST(JobProfilerTest, TellsSilenceFromAWindowThatIsTooShort) {
  WindowCounters silent = CountersOf(1, 1, 0, 1e15, 0);
  EXPECT_TRUE(IsSilent(silent));
  EXPECT_FALSE(MeasureProfile(silent).has_value());
  const model::MeasuredProfile profile = WholeWindowProfile(silent);
  EXPECT_EQ(profile.flow_bytes.size(), 2u);
  EXPECT_GT(profile.iteration_time.value(), 0);
  // Communication without a break has no period that could be seen from outside.
  EXPECT_FALSE(MeasureProfile(CountersOf(0.3, 0, 0.7, 1e15, 2e9)).has_value());
  const WindowCounters slow = CountersOf(14, 1, 5, 1e15, 2e9);
  EXPECT_FALSE(IsSilent(slow));
  EXPECT_FALSE(MeasureProfile(slow).has_value());
}

// Communication without a break: GPUs still compute in turns.
TEST(JobProfilerTest, SeesThePeriodOfGpusWhereTrafficShowsNone) {
  WindowCounters counters = CountersOf(0.3, 0, 0.7, 1e15, 2e9);  // iterations of 0.7 s, always sending
  counters.busy_series.assign(counters.series.size(), 0.0f);
  for (double start = 0.1; start < 30; start += 0.7) {
    for (size_t i = 0; i < 300; ++i) {
      const auto bin = static_cast<size_t>(start * 1e3) + i;
      if (bin < counters.busy_series.size()) counters.busy_series[bin] = 1e-3f;
    }
  }
  const auto profile = MeasureProfile(counters);
  ASSERT_TRUE(profile.has_value());
  EXPECT_TRUE(profile->is_period_known);
  EXPECT_NEAR(profile->iteration_time.value(), 0.7, 0.007);
  EXPECT_NEAR(profile->compute_time.value(), 0.3, 0.007);
  EXPECT_NEAR(profile->start_fraction, 0, 0.03);
  EXPECT_NEAR(profile->work.value(), 1e15, 0.01e15);
}

// Nothing shows a period: intensity and the shares of time are correct, and the rest is reported as unknown.
TEST(JobProfilerTest, AWindowWithoutAPeriodIsReported) {
  const WindowCounters counters = CountersOf(0.3, 0, 0.7, 1e15, 2e9);
  const model::MeasuredProfile profile = WholeWindowProfile(counters);
  EXPECT_FALSE(profile.is_period_known);
  EXPECT_EQ(profile.iteration_time, Seconds(30));
  EXPECT_NEAR(profile.compute_time.value(), 30 * 0.3 / 0.7, 1e-6);
  EXPECT_NEAR(profile.start_fraction, 0, 1e-6);
  EXPECT_NEAR(profile.work.value() / profile.flow_bytes[0].value(), 1e15 / 2e9, 1);
}

TEST(MeasuredIterationTest, KeepsConnectionsAndFlowIndices) {
  model::Iteration actual;
  actual.flows = {{GpuId(0), GpuId(1), Bytes(5), 0}, {GpuId(2), GpuId(3), Bytes(6), 1}};
  actual.num_groups = 2;
  const model::MeasuredProfile measured{.iteration_time = Seconds(1),
                                        .compute_time = Seconds(0.5),
                                        .start_fraction = 0.25,
                                        .work = Flop(7),
                                        .flow_bytes = {Bytes(4.9), Bytes(0)}};
  const model::Iteration seen = model::MakeMeasuredIteration(actual, measured);
  ASSERT_EQ(seen.flows.size(), 2u);
  EXPECT_EQ(seen.flows[0].bytes, Bytes(4.9));
  EXPECT_EQ(seen.flows[1].bytes, Bytes(1)) << "flows must have bytes";
  EXPECT_EQ(seen.flows[1].source, GpuId(2));
  ASSERT_EQ(seen.phases.size(), 1u);
  EXPECT_EQ(seen.phases[0].start_fraction, 0.25);
  EXPECT_EQ(seen.phases[0].num_flows, 2u);
  EXPECT_EQ(seen.work, Flop(7));
}

}  // namespace
}  // namespace fairlead::agent
