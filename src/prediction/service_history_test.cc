// Estimates from jobs of the past, against numbers of the specification and of closed forms.
#include "prediction/service_history.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "base/random.h"

namespace fairlead::prediction {
namespace {

ShrinkageLevel Level(size_t count, double median) { return {count, std::log(median), 0}; }

// m_1 = (20 ln 1800 + 4 ln 3600) / 24, and so on down.
TEST(ServiceHistoryTest, LevelsShrinkTowardsTheOneAbove) {
  const std::array levels = {Level(100, 3600), Level(20, 1800), Level(6, 7200), Level(2, 10000)};
  EXPECT_NEAR(std::exp(ShrinkLevels(std::span(levels).first(2), 4).log_mean), 2020.43, 0.01);
  EXPECT_NEAR(std::exp(ShrinkLevels(std::span(levels).first(3), 4).log_mean), 4330.89, 0.01);
  EXPECT_NEAR(std::exp(ShrinkLevels(levels, 4).log_mean), 5724.24, 0.01);
  EXPECT_NEAR(std::exp(ShrinkLevels(levels, 0).log_mean), 10000, 1e-6);
}

// Of a table of the normal distribution: both sides, far out, and in the middle.
TEST(ServiceHistoryTest, QuantilesOfTheNormalDistribution) {
  const ServiceEstimate standard{0, 1, 1};
  const auto at = [&](double probability) { return std::log(standard.Quantile(probability)); };
  EXPECT_NEAR(at(0.5), 0, 1e-12);
  EXPECT_NEAR(at(0.1), -1.2815515655446004, 1e-12);
  EXPECT_NEAR(at(0.9), 1.2815515655446004, 1e-12);
  EXPECT_NEAR(at(0.001), -3.090232306167813, 1e-12);
  EXPECT_NEAR(at(1e-6), -4.753424308822899, 1e-12);
  EXPECT_NEAR(at(1e-12), -7.034483825301131, 1e-9);
}

// Lognormal, median 3600, sigma 0.5.
TEST(ServiceHistoryTest, WhatIsLeftOfALognormalJob) {
  const ServiceEstimate job{std::log(3600), 0.5, 1};
  EXPECT_NEAR(job.ExpectedRemaining(0), 4079.3, 0.1);
  EXPECT_NEAR(job.ExpectedRemaining(3600), 2041.4, 0.1);
  EXPECT_NEAR(job.ExpectedRemaining(14400), 2508.6, 0.1);
  EXPECT_NEAR(job.Quantile(0.5), 3600, 1e-6);
  EXPECT_NEAR(job.Quantile(0.9), 3600 * std::exp(0.5 * 1.2815515655), 1e-3);
  // A job far beyond all of its kind is never "almost done", and no number is lost.
  for (const double attained : {1e5, 1e7, 1e9, 1e12}) {
    EXPECT_GT(job.ExpectedRemaining(attained), 0.01 * attained) << attained;
    EXPECT_TRUE(std::isfinite(job.ExpectedRemaining(attained)));
  }
}

// Of the jobs beyond 3600, a tenth ends before 3600 exp(0.5 * 0.12566), 233 later, and a tenth after another 4594:
// ln(4594 / 233) / (2 * 1.28155). Far out what is left is exponential: ln(ln 0.1 / ln 0.9) / (2 * 1.28155).
TEST(ServiceHistoryTest, HowWellItIsKnownWhatIsLeft) {
  const ServiceEstimate job{std::log(3600), 0.5, 1};
  EXPECT_NEAR(job.RemainingSigma(0), 0.5, 1e-12);
  EXPECT_NEAR(job.RemainingSigma(3600), 1.16245, 1e-4);
  EXPECT_NEAR(job.RemainingSigma(1e12), 1.2034, 1e-4);
  const ServiceEstimate exact{std::log(3600), 0, 1};
  EXPECT_LT(exact.RemainingSigma(1800), 0.01);
  EXPECT_TRUE(std::isfinite(exact.RemainingSigma(3600)));
  EXPECT_TRUE(std::isfinite(exact.RemainingSigma(3601)));
}

// Kin that are all alike count from the first on; kin that differ do not.
TEST(ServiceHistoryTest, KinThatAreAlikeCountAtOnce) {
  const std::array bert = {std::string("app bert"), std::string("app bert batch 12")};
  const std::array ncf = {std::string("app ncf"), std::string("app ncf batch 256")};
  const std::array yolo = {std::string("app yolo"), std::string("app yolo batch 8")};
  ServiceHistory history;
  EXPECT_FALSE(history.Estimate(bert).has_value());
  for (int i = 0; i < 4; ++i) history.Add(ncf, 46);
  for (int i = 0; i < 3; ++i) history.Add(bert, 20000);
  history.Add(yolo, 57000);
  EXPECT_NEAR(history.Estimate(yolo)->ExpectedRemaining(0) / 57000, 1, 0.3);
  EXPECT_NEAR(history.Estimate(bert)->ExpectedRemaining(5000) / 15000, 1, 0.3);
  // Unknown kin: all that is known is that jobs differ widely.
  const std::array unknown = {std::string("app gpt"), std::string("app gpt batch 1")};
  EXPECT_GT(history.Estimate(unknown)->log_sigma, 1);

  ServiceHistory mixed;
  Random random(1);
  for (int i = 0; i < 40; ++i) {
    mixed.Add(bert, std::exp(random.Uniform(3, 12)));
    mixed.Add(ncf, std::exp(random.Uniform(3, 12)));
  }
  // One sample of exp(11) among means of about exp(7.5): shrunk twice, by up to (sample + 4 prior) / 5.
  mixed.Add(yolo, std::exp(11));
  EXPECT_LT(mixed.Estimate(yolo)->Quantile(0.5), std::exp(10));
  EXPECT_GT(mixed.Estimate(yolo)->Quantile(0.5), std::exp(7.5));
}

TEST(ServiceHistoryTest, ConformalFactors) {
  const std::array ratios = {1.05, 0.9, 1.3, 0.75, 1.1, 2.0, 0.95, 1.02, 0.6};
  EXPECT_NEAR(ConformalFactor(ratios, 0.2), 1 / 0.6, 1e-6);
  EXPECT_NEAR(ConformalFactor(ratios, 0.1), 2, 1e-6);
  EXPECT_TRUE(std::isinf(ConformalFactor(std::span(ratios).first(8), 0.1)));
  EXPECT_TRUE(std::isinf(ConformalFactor({}, 0.2)));
}

// Coverage of 80 % intervals, on ratios that have not been used.
TEST(ServiceHistoryTest, ConformalIntervalsCover) {
  Random random(7);
  const auto draw = [&] { return std::exp(random.Uniform(-1, 1) * random.Uniform(0, 2)); };
  size_t num_inside = 0;
  constexpr size_t kNumTrials = 2000;
  for (size_t trial = 0; trial < kNumTrials; ++trial) {
    std::array<double, 39> past{};
    for (double& ratio : past) ratio = draw();
    const double factor = ConformalFactor(past, 0.2);
    const double ratio = draw();
    num_inside += ratio <= factor && ratio >= 1 / factor ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(num_inside) / kNumTrials, 0.8, 0.04);
}

}  // namespace
}  // namespace fairlead::prediction
