#include "sim/period_detector.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fairlead::sim {
namespace {

DomainSnapshot At(int64_t ns, int64_t progress, uint64_t phase = 0, double left = 0) {
  return {.local_ns = ns, .discrete = {phase}, .progress_ns = {progress}, .left_ns = {left}};
}

TEST(PeriodDetectorTest, FindsTheShortestExactPeriod) {
  PeriodDetector detector;
  // 10, 20, 30, 10: repeats after three.
  EXPECT_FALSE(detector.Observe(At(100'000, 10'000)));
  EXPECT_FALSE(detector.Observe(At(200'000, 20'000)));
  EXPECT_FALSE(detector.Observe(At(300'000, 30'000)));
  const auto period = detector.Observe(At(400'000, 10'000));
  ASSERT_TRUE(period.has_value());
  EXPECT_EQ(period->lag, 3u);
  EXPECT_EQ(period->length_ns, 300'000);
  EXPECT_EQ(period->error_ns, 0);
}

TEST(PeriodDetectorTest, DifferentPhasesNeverMatch) {
  PeriodDetector detector;
  for (uint64_t i = 0; i < 100; ++i) EXPECT_FALSE(detector.Observe(At(static_cast<int64_t>(i) * 1000, 5, i)));
}

TEST(PeriodDetectorTest, ConvergenceIsBoundedByTheRestOfTheSeries) {
  // The distance to the cycle halves or better each time: 0.3 of the one before.
  PeriodDetector detector;
  double offset = 40'000;
  double error = -1;
  for (int64_t i = 0; i < 60 && error < 0; ++i, offset *= 0.3) {
    const auto period = detector.Observe(At(i * 1'000'000, std::llround(offset)));
    if (period) error = period->error_ns;
    // What is still to come is the present offset; it must be within the bound.
    if (period && period->error_ns > 0) {
      EXPECT_LE(offset, period->error_ns);
    }
  }
  EXPECT_GE(error, 0);
}

TEST(PeriodDetectorTest, SteadyDriftIsNoPeriod) {
  PeriodDetector detector;
  for (int64_t i = 0; i < 500; ++i) EXPECT_FALSE(detector.Observe(At(i * 1'000'000, i * 10)));
}

TEST(DistanceTest, IsTheLargestDifference) {
  EXPECT_EQ(Distance(At(0, 10, 0, 5), At(9, 13, 0, 4), 1e9), 3);
  EXPECT_EQ(Distance(At(0, 10, 0, 5), At(9, 13, 0, 4), 2), std::nullopt);
  EXPECT_EQ(Distance(At(0, 10, 0), At(9, 10, 1), 1e9), std::nullopt);
}

}  // namespace
}  // namespace fairlead::sim
