#include "agent/period_estimator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/random.h"

namespace fairlead::agent {
namespace {

constexpr double kBinS = 1e-3;

struct PulseTrain {
  double period_s = 1;
  int bursts = 1;       // per iteration, of equal bytes, one after the other in the first `active` of it
  double active = 0.5;  // share of the iteration from the first burst to the end of the last one
  double duty = 0.6;    // share of that time in which something is sent
  double jitter = 0;    // each iteration is longer or shorter by up to this share
  double length_s = 30;
  double alternation = 0;  // share by which iterations differ in a cycle of four
  double bin_s = kBinS;
};

// Adds a burst of constant rate to the bins that it covers, to the first and last in part.
void AddBurst(std::vector<float>& series, double bin_s, double from_s, double to_s) {
  const auto first = static_cast<size_t>(std::max(0.0, from_s / bin_s));
  for (size_t i = first; i < series.size() && static_cast<double>(i) * bin_s < to_s; ++i) {
    const double begin = std::max(from_s, static_cast<double>(i) * bin_s);
    const double end = std::min(to_s, static_cast<double>(i + 1) * bin_s);
    series[i] += static_cast<float>(1e10 * std::max(0.0, end - begin));
  }
}

std::vector<float> MakeSeries(const PulseTrain& train, uint64_t seed) {
  constexpr std::array<double, 4> kCycle = {1, -1, 0.4, -0.4};
  Random random(seed);
  std::vector<float> series(static_cast<size_t>(train.length_s / train.bin_s));
  double start = train.period_s * random.Uniform();
  for (size_t k = 0; start < train.length_s; ++k) {
    const double slot = train.period_s * train.active / train.bursts;
    for (int b = 0; b < train.bursts; ++b) {
      AddBurst(series, train.bin_s, start + b * slot, start + b * slot + slot * train.duty);
    }
    const double deviation = train.jitter * (2 * random.Uniform() - 1) + train.alternation * kCycle[k % kCycle.size()];
    start += train.period_s * (1 + deviation);
  }
  return series;
}

TEST(PeriodEstimatorTest, FindsTheIterationNotItsBursts) {
  // Test law 14 of the Crux page: g sub-bursts, 5 % jitter, within 2 %. The jitter of 30 s / 0.35 s = 86 iterations
  // moves their mean by 5 % / sqrt(3 * 86) = 0.3 %; with 7 iterations of 4 s by 1.1 %.
  for (const double period : {0.05, 0.35, 1.0, 2.7, 4.0}) {
    for (const int bursts : {1, 2, 4}) {
      for (const double active : {0.3, 0.5, 0.8}) {
        for (uint64_t seed = 1; seed <= 3; ++seed) {
          const PulseTrain train{.period_s = period, .bursts = bursts, .active = active, .jitter = 0.05};
          const auto estimate = EstimatePeriod(MakeSeries(train, seed), Seconds(kBinS));
          ASSERT_TRUE(estimate.has_value()) << period << " s, " << bursts << " bursts, active " << active;
          EXPECT_NEAR(estimate->period.value(), period, 0.02 * period)
              << period << " s, " << bursts << " bursts, active " << active << ", seed " << seed;
        }
      }
    }
  }
}

TEST(PeriodEstimatorTest, IsPreciseWithoutJitter) {
  for (const double period : {0.0423, 0.317, 1.234, 6.5}) {
    const auto estimate = EstimatePeriod(MakeSeries({.period_s = period, .bursts = 4}, 1), Seconds(kBinS));
    ASSERT_TRUE(estimate.has_value());
    EXPECT_NEAR(estimate->period.value(), period, 0.002 * period);
  }
}

// What an agent sees: 10 s in bins of 20 ms, so that a period is a few bins and a fraction.
// Returns: the share of estimates that are off by more than 3 %.
double ShareOfWrongEstimates(double alternation) {
  int wrong = 0;
  int all = 0;
  for (double period = 0.15; period < 1.6; period *= 1.04) {
    for (const int bursts : {1, 2, 4}) {
      for (const double active : {0.1, 0.3, 0.6, 0.9}) {
        const auto estimate = EstimatePeriod(MakeSeries({.period_s = period,
                                                         .bursts = bursts,
                                                         .active = active,
                                                         .jitter = 0.005,
                                                         .length_s = 10,
                                                         .alternation = alternation,
                                                         .bin_s = 0.02},
                                                        static_cast<uint64_t>(all)),
                                             Seconds(0.02));
        wrong += !estimate || std::abs(estimate->period.value() / period - 1) > 0.03 ? 1 : 0;
        ++all;
      }
    }
  }
  return static_cast<double>(wrong) / all;
}

TEST(PeriodEstimatorTest, APeriodNeedNotBeAWholeNumberOfBins) { EXPECT_LT(ShareOfWrongEstimates(0), 0.02); }

TEST(PeriodEstimatorTest, IterationsThatAlternateAreNotTakenForOne) { EXPECT_LT(ShareOfWrongEstimates(0.02), 0.02); }

TEST(PeriodEstimatorTest, HasNoPeriodWithoutRepetition) {
  EXPECT_FALSE(EstimatePeriod(std::vector<float>(30'000, 0.0f), Seconds(kBinS)));
  EXPECT_FALSE(EstimatePeriod(std::vector<float>(30'000, 5.0f), Seconds(kBinS))) << "a constant stream";
  EXPECT_FALSE(EstimatePeriod(std::vector<float>(3, 1.0f), Seconds(kBinS)));
  EXPECT_FALSE(EstimatePeriod({}, Seconds(kBinS)));
  // One burst, and two that are too few to call it a habit.
  EXPECT_FALSE(EstimatePeriod(MakeSeries({.period_s = 40}, 1), Seconds(kBinS)));
  EXPECT_FALSE(EstimatePeriod(MakeSeries({.period_s = 14}, 1), Seconds(kBinS)));
  Random random(1);
  std::vector<float> noise(30'000);
  for (float& value : noise) value = static_cast<float>(random.Uniform());
  EXPECT_FALSE(EstimatePeriod(noise, Seconds(kBinS)));
}

TEST(PeriodEstimatorTest, ScaleOfBytesDoesNotMatter) {
  auto series = MakeSeries({.period_s = 0.8, .bursts = 2, .jitter = 0.03}, 4);
  const double period = EstimatePeriod(series, Seconds(kBinS))->period.value();
  for (float& value : series) value *= 1e-3f;
  EXPECT_NEAR(EstimatePeriod(series, Seconds(kBinS))->period.value(), period, 1e-3);
}

}  // namespace
}  // namespace fairlead::agent
