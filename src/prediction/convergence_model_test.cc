// Loss curves: recovery of planted ones, piecewise after drops, intervals, and an outcome for every bad input.
#include "prediction/convergence_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/bounded_normal.h"
#include "base/random.h"
#include "base/statistics.h"
#include "prediction/loss_cleaning.h"

namespace fairlead::prediction {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

ConvergenceCurve RandomCurve(Random& random) {
  return {.first_iteration = 0,
          .scale = random.Uniform(0.5, 10),
          .slope = random.Uniform(0.001, 0.1),
          .offset = random.Uniform(0.7, 1.5),
          .floor = random.Below(4) == 0 ? 0 : random.Uniform(0, 0.3)};
}

std::vector<LossPoint> SampleCurve(const ConvergenceCurve& curve, double first, double last, int count) {
  std::vector<LossPoint> points;
  for (int i = 0; i < count; ++i) {
    const double k = first + (last - first) * i / (count - 1);
    points.push_back({k, curve.LossAt(k)});
  }
  return points;
}

void AddNoise(std::vector<LossPoint>& points, double relative, Random& random) {
  for (LossPoint& point : points) point.loss *= 1 + relative * DrawBoundedNormal(random);
}

TEST(ConvergenceModelTest, RecoversCurvesWithoutNoise) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const ConvergenceCurve truth = RandomCurve(random);
    const ConvergenceFit fit = FitConvergence(SampleCurve(truth, 10, 1000, 40));
    ASSERT_TRUE(fit.usable()) << Name(fit.reason);
    // The fit's scale is its own; what it means in losses must be the same: 1 / (slope / scale), and so on.
    EXPECT_NEAR(fit.curve.slope / fit.curve.scale, truth.slope / truth.scale, 1e-6 * truth.slope / truth.scale);
    EXPECT_NEAR(fit.curve.offset / fit.curve.scale, truth.offset / truth.scale, 1e-6);
    EXPECT_NEAR(fit.curve.floor * fit.curve.scale, truth.floor * truth.scale, 1e-6 * truth.scale);
    EXPECT_LT(fit.residual, 1e-8);
  }
}

// loss(k) = 2 / (0.01 k + 1) + 0.5: 0.7 is reached where 2 / (0.01 k + 1) = 0.2, k = 900; 0.5 never.
TEST(ConvergenceModelTest, IterationsToReachInvertsTheCurve) {
  const ConvergenceCurve curve{.scale = 2, .slope = 0.01, .offset = 1, .floor = 0.25};
  EXPECT_NEAR(curve.LossAt(900), 0.7, 1e-12);
  EXPECT_NEAR(curve.IterationsToReach(0.7).value(), 900, 1e-9);
  EXPECT_EQ(curve.IterationsToReach(100).value(), 0) << "reached before the start";
  EXPECT_FALSE(curve.IterationsToReach(0.5).has_value());
  EXPECT_FALSE(curve.IterationsToReach(kNan).has_value());
}

TEST(ConvergenceModelTest, RemainingShrinksToZeroAndFixedCountsNeedNoModel) {
  const ConvergenceCurve truth{.scale = 2, .slope = 0.01, .offset = 1, .floor = 0.25};
  const ConvergenceFit fit = FitConvergence(SampleCurve(truth, 0, 400, 21));
  ASSERT_TRUE(fit.usable());
  EXPECT_NEAR(PredictRemaining(fit, 0.7, 400).expected, 500, 1e-3);
  EXPECT_EQ(PredictRemaining(fit, 0.7, 2000).expected, 0);
  EXPECT_TRUE(std::isinf(PredictRemaining(fit, 0.4, 400).expected)) << "below the floor";
  EXPECT_EQ(FixedRemaining(1000, 400).expected, 600);
  EXPECT_EQ(FixedRemaining(1000, 1400).high, 0);
}

// Of planted curves with 1 % noise, the 90 % interval must hold the truth in most cases. The bound is far below 90 %:
// residual resampling of three coefficients from 40 points is known to be narrow.
TEST(ConvergenceModelTest, IntervalHoldsTheTruthMostly) {
  int num_inside = 0;
  constexpr int kCount = 60;
  for (uint64_t seed = 1; seed <= kCount; ++seed) {
    Random random(seed);
    const ConvergenceCurve truth{.scale = 1, .slope = 0.02, .offset = 1, .floor = 0.1};
    std::vector<LossPoint> points = SampleCurve(truth, 10, 400, 40);
    AddNoise(points, 0.01, random);
    const ConvergenceFit fit = FitConvergence(points);
    ASSERT_TRUE(fit.usable());
    // 1 / (0.02 k + 1) = 0.05 at k = 950: 550 iterations are left.
    const RemainingIterations remaining = PredictRemaining(fit, 0.15, 400);
    EXPECT_LE(remaining.low, remaining.expected);
    EXPECT_GE(remaining.high, remaining.expected);
    num_inside += remaining.low <= 550 && 550 <= remaining.high;
  }
  EXPECT_GE(num_inside, kCount * 6 / 10);
}

TEST(ConvergenceModelTest, SameSeedSameInterval) {
  Random random(5);
  std::vector<LossPoint> points = SampleCurve(RandomCurve(random), 10, 400, 40);
  AddNoise(points, 0.01, random);
  const ConvergenceFit a = FitConvergence(points);
  const ConvergenceFit b = FitConvergence(points);
  ASSERT_EQ(a.resamples.size(), 50u);
  for (size_t i = 0; i < a.resamples.size(); ++i) EXPECT_EQ(a.resamples[i].slope, b.resamples[i].slope);
}

// Scaling losses by a constant scales the curve; measuring iterations in another unit scales the answer.
TEST(ConvergenceModelTest, UnitsDoNotMatter) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::vector<LossPoint> points = SampleCurve(RandomCurve(random), 10, 400, 40);
    AddNoise(points, 0.005, random);
    std::vector<LossPoint> scaled = points;
    for (LossPoint& point : scaled) point = {point.iteration * 1000, point.loss * 8};
    const ConvergenceFit a = FitConvergence(points);
    const ConvergenceFit b = FitConvergence(scaled);
    ASSERT_TRUE(a.usable() && b.usable());
    const double target = points.back().loss * 0.98;
    const double expected = PredictRemaining(a, target, 400).expected;
    const double other = PredictRemaining(b, target * 8, 400'000).expected;
    if (std::isinf(expected)) {
      EXPECT_TRUE(std::isinf(other));
    } else {
      EXPECT_NEAR(other, 1000 * expected, 1e-2 * (1000 * expected + 1));
    }
  }
}

// Two hyperbolas, the second from iteration 500 on with a lower floor: a fit over both would miss the end.
std::vector<LossPoint> CurveWithDrop(double noise, Random& random) {
  const ConvergenceCurve before{.scale = 1, .slope = 0.05, .offset = 1, .floor = 0.4};
  const ConvergenceCurve after{.first_iteration = 500, .scale = 1, .slope = 0.02, .offset = 5, .floor = 0.1};
  std::vector<LossPoint> points;
  for (int k = 10; k <= 900; k += 10) points.push_back({double(k), k <= 500 ? before.LossAt(k) : after.LossAt(k)});
  AddNoise(points, noise, random);
  return points;
}

TEST(ConvergenceModelTest, RefitsAfterALearningRateDrop) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::vector<LossPoint> points = CurveWithDrop(0.002, random);
    ConvergenceOptions options;
    const ConvergenceFit seen = FitConvergence(points, options);
    options.declared_drops = {500, 2000};  // the second one lies ahead
    options.drop_deviations = 0;
    const ConvergenceFit declared = FitConvergence(points, options);
    ASSERT_TRUE(seen.usable() && declared.usable());
    EXPECT_EQ(declared.drop_iteration, 500);
    EXPECT_EQ(seen.drop_iteration, 500) << "the fall of 0.12 at 510 is 60 times the noise";
    EXPECT_NEAR(declared.curve.floor * declared.curve.scale, 0.1, 0.05);
    options.declared_drops = {};
    EXPECT_GT(FitConvergence(points, options).residual, 3 * declared.residual) << "one curve does not fit both parts";
  }
}

TEST(ConvergenceModelTest, SmoothAndNoisyCurvesHaveNoDrop) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::vector<LossPoint> points = SampleCurve(RandomCurve(random), 10, 1000, 60);
    if (seed % 2 == 0) AddNoise(points, 0.001, random);
    EXPECT_EQ(FindLastDrop(points, 4), std::nullopt);
  }
}

TEST(ConvergenceModelTest, OutliersDoNotMoveTheFit) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const ConvergenceCurve truth{.scale = 1, .slope = 0.02, .offset = 1, .floor = 0.1};
    std::vector<LossPoint> points = SampleCurve(truth, 10, 600, 60);
    AddNoise(points, 0.001, random);
    points[20 + seed].loss *= 3;
    const ConvergenceFit fit = FitConvergence(points);
    ASSERT_TRUE(fit.usable());
    EXPECT_GE(fit.num_outliers, 1u);
    EXPECT_NEAR(PredictRemaining(fit, 0.15, 600).expected, 350, 35) << "1 / (0.02 k + 1) = 0.05 at 950";
  }
}

TEST(ConvergenceModelTest, EveryBadCurveHasItsReason) {
  const auto reason = [](std::vector<LossPoint> points) { return FitConvergence(points).reason; };
  EXPECT_EQ(reason({}), UnpredictableReason::kNoObservations);
  EXPECT_EQ(reason({{1, 1}, {2, 0.9}}), UnpredictableReason::kTooFewPoints);
  EXPECT_EQ(reason({{1, 1}, {2, kNan}, {3, 0.8}, {4, 0.7}, {5, 0.6}}), UnpredictableReason::kNotFinite);
  EXPECT_EQ(reason({{1, 1}, {2, INFINITY}, {3, 0.8}, {4, 0.7}, {5, 0.6}}), UnpredictableReason::kNotFinite);
  EXPECT_EQ(reason({{1, 1}, {kNan, 0.9}, {3, 0.8}, {4, 0.7}, {5, 0.6}}), UnpredictableReason::kNotFinite);
  EXPECT_EQ(reason({{1, 1}, {2, 0}, {3, 0.8}, {4, 0.7}, {5, 0.6}}), UnpredictableReason::kNotPositive);
  EXPECT_EQ(reason({{1, 1}, {2, 0.9}, {2, 0.8}, {4, 0.7}, {5, 0.6}}), UnpredictableReason::kOutOfOrder);
  EXPECT_EQ(reason({{1, 1}, {2, 1.1}, {3, 1.2}, {4, 1.3}, {5, 1.4}}), UnpredictableReason::kRising);
  EXPECT_EQ(reason({{1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}}), UnpredictableReason::kFlat);
}

// Whatever is fed in, the fit comes back, and a usable one predicts no negative and no NaN iterations.
TEST(ConvergenceModelTest, RandomCurvesNeverBreakIt) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::vector<LossPoint> points;
    const size_t count = random.Below(40);
    for (size_t i = 0; i < count; ++i) {
      points.push_back({double(i + random.Below(2)), std::exp(random.Uniform(-20, 20))});
      if (random.Below(200) == 0) points.back().loss = kNan;
    }
    ConvergenceOptions options;
    options.num_bootstraps = 5;
    const ConvergenceFit fit = FitConvergence(points, options);
    if (!fit.usable()) continue;
    const RemainingIterations remaining = PredictRemaining(fit, random.Uniform(), 40);
    EXPECT_GE(remaining.low, 0);
    EXPECT_LE(remaining.low, remaining.expected);
    EXPECT_LE(remaining.expected, remaining.high);
  }
}

// Eleven epochs with changes below 0.05 of the first losses have converged; one larger change, or ten epochs, have not.
TEST(HasConvergedTest, TenQuietEpochsInARow) {
  std::vector<double> losses(11, 0.5);
  losses[0] = 1;  // scale 1; the first change, 0.5, is large
  EXPECT_FALSE(HasConverged(losses));
  losses.push_back(0.46);
  EXPECT_TRUE(HasConverged(losses)) << "the last ten changes are below 0.05";
  losses.back() = 0.44;
  EXPECT_FALSE(HasConverged(losses)) << "0.06";
  losses.back() = kNan;
  EXPECT_FALSE(HasConverged(losses));
  EXPECT_FALSE(HasConverged({}));
}

TEST(LossCleaningTest, MedianOfEvenAndOdd) {
  EXPECT_EQ(Median({3, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 3, 2}), 2.5);
}

}  // namespace
}  // namespace fairlead::prediction
