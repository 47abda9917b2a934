#include "traffic/c4p/rtt_baseline.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"

namespace fairlead::traffic::c4p {
namespace {

// Logarithms are kept as floats: 24 bits of log(1e-5) = -11.5 are good to 1e-6, that is 2e-5 of the floor log 1.05.
constexpr double kPrecision = 1e-4;

RttBaseline Baseline(std::initializer_list<double> rtts_us) {
  RttBaseline baseline;
  for (const double rtt : rtts_us) baseline.Add(Seconds(rtt * 1e-6));
  return baseline;
}

TEST(RttBaselineTest, HasNoBaselineBeforeEightSamples) {
  RttBaseline baseline = Baseline({10, 10, 10, 10, 10, 10, 10});
  EXPECT_FALSE(baseline.Score(Seconds(1)).has_value());
  EXPECT_EQ(RttBaseline().Median(), Seconds(0));
  baseline.Add(Seconds(10e-6));
  EXPECT_TRUE(baseline.Score(Seconds(1)).has_value());
}

TEST(RttBaselineTest, FloorCountsWhereAllSamplesAreEqual) {
  // MAD 0, so a unit of z is a factor of 1.05.
  const RttBaseline baseline = Baseline({20, 20, 20, 20, 20, 20, 20, 20});
  EXPECT_NEAR(baseline.Median().value(), 20e-6, 1e-10);
  EXPECT_NEAR(*baseline.Score(Seconds(20e-6)), 0, kPrecision);
  EXPECT_NEAR(*baseline.Score(Seconds(21e-6)), 1, kPrecision);
  EXPECT_NEAR(*baseline.Score(Seconds(20e-6 * std::pow(1.05, 5))), 5, kPrecision);
}

TEST(RttBaselineTest, MedianAndMadByHand) {
  // Logs to base 2: 0 0 1 1 3 3 4 4: median 2, deviations 2 2 1 1 1 1 2 2, MAD 1.5.
  const RttBaseline baseline = Baseline({1, 1, 2, 2, 8, 8, 16, 16});
  EXPECT_NEAR(*baseline.Score(Seconds(64e-6)), 4 / (1.4826 * 1.5), kPrecision);
  EXPECT_NEAR(*baseline.Score(Seconds(4e-6)), 0, kPrecision);
}

TEST(RttBaselineTest, ThirdOfWildSamplesDoesNotHideASlowLink) {
  RttBaseline baseline;
  for (int i = 0; i < 32; ++i) baseline.Add(Seconds(i % 3 == 0 ? 1 : 10e-6));
  EXPECT_GT(*baseline.Score(Seconds(14e-6)), 5);  // log 1.4 / log 1.05 = 6.9
}

TEST(RttBaselineTest, ForgetsWhatIsOlderThanItsCapacity) {
  RttBaseline baseline;
  for (int i = 0; i < 1000; ++i) baseline.Add(Seconds(1));
  for (size_t i = 0; i < RttBaseline::kCapacity; ++i) baseline.Add(Seconds(10e-6));
  EXPECT_EQ(baseline.size(), RttBaseline::kCapacity);
  EXPECT_NEAR(*baseline.Score(Seconds(10e-6)), 0, kPrecision);
}

// A change of unit and the order of the samples are no matter.
TEST(RttBaselineTest, ScoresDoNotDependOnScaleOrOrder) {
  Random random(8);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> rtts(8 + random.Below(25));
    for (double& rtt : rtts) rtt = random.Uniform(5e-6, 50e-6);
    const double scale = random.Uniform(0.1, 10);
    RttBaseline baseline;
    RttBaseline other;
    for (const double rtt : rtts) baseline.Add(Seconds(rtt));
    random.Shuffle(std::span(rtts));
    for (const double rtt : rtts) other.Add(Seconds(rtt * scale));
    const double probe = random.Uniform(5e-6, 500e-6);
    EXPECT_NEAR(*baseline.Score(Seconds(probe)), *other.Score(Seconds(probe * scale)), 2e-3);
  }
}

}  // namespace
}  // namespace fairlead::traffic::c4p
