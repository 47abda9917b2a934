#include "controller/priority_spread.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace fairlead::controller {
namespace {

// To a percent of the true deviation and better: the sum of twelve even ones.
double Normal(Random* random) {
  double sum = 0;
  for (int i = 0; i < 12; ++i) sum += random->Uniform();
  return sum - 6;
}

TEST(PrioritySpreadTest, TheFirstValueIsTakenAsItIs) {
  PrioritySpread spread;
  EXPECT_EQ(spread.HalfWidth(1e-3), 0);
  spread.Add(FlopPerSecond(5));
  EXPECT_EQ(spread.HalfWidth(1e-3), 0);
  spread.Add(FlopPerSecond(5));
  EXPECT_EQ(spread.HalfWidth(1e-3), 0) << "no noise at all";
  spread.Add(FlopPerSecond(0));
  spread.Add(FlopPerSecond(INFINITY));
  EXPECT_EQ(spread.HalfWidth(1e-3), 0) << "these are no measurements";
}

TEST(PrioritySpreadTest, IsTheDeviationTimesStudentsQuantile) {
  // Of ln: 0, 1, 2: variance 1 with 2 degrees of freedom; four times the values -1 and 1: variance 8/7.
  PrioritySpread three;
  for (const double value : {0.0, 1.0, 2.0}) three.Add(FlopPerSecond(std::exp(value)));
  EXPECT_NEAR(three.HalfWidth(0.05), 2.920, 1e-3) << "table of Student's distribution";
  PrioritySpread eight;
  for (int i = 0; i < 8; ++i) eight.Add(FlopPerSecond(std::exp(i % 2 == 0 ? -1.0 : 1.0)));
  EXPECT_NEAR(eight.HalfWidth(0.001), std::sqrt(8.0 / 7) * 4.785, 1e-3);
  EXPECT_EQ(eight.HalfWidth(0.5), 0);
  // Of 0 and 1: variance 1/2 with one degree.
  PrioritySpread two;
  for (const double value : {0.0, 1.0}) two.Add(FlopPerSecond(std::exp(value)));
  EXPECT_NEAR(two.HalfWidth(0.05), std::sqrt(0.5) * 6.314, 1e-3);
}

TEST(PrioritySpreadTest, CoversNewValuesOfTheSameNoise) {
  int outside = 0;
  int all = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    PrioritySpread spread;
    for (int i = 0; i < 40; ++i) {
      const double value = 0.1 * Normal(&random);
      if (i >= 10) {
        // Around the true value, 0.
        outside += std::abs(value) > spread.HalfWidth(0.005) ? 1 : 0;
        ++all;
      }
      spread.Add(FlopPerSecond(1e15 * std::exp(value)));
    }
  }
  // 1 % is expected on both sides; the estimate moves with its sixteen values.
  EXPECT_LE(outside, 0.02 * all);
  EXPECT_GE(outside, 0.001 * all) << "not so wide that nothing would ever be believed";
}

// A job that changes permanently is doubted for a while, and then believed.
TEST(PrioritySpreadTest, ForgetsWhatWas) {
  Random random(3);
  PrioritySpread spread;
  for (int i = 0; i < 50; ++i) spread.Add(FlopPerSecond(std::exp(0.01 * Normal(&random))));
  const double calm = spread.HalfWidth(1e-3);
  spread.Add(FlopPerSecond(std::exp(3.0)));
  EXPECT_GT(spread.HalfWidth(1e-3), 10 * calm);
  for (int i = 0; i < 150; ++i) spread.Add(FlopPerSecond(std::exp(3 + 0.01 * Normal(&random))));
  EXPECT_LT(spread.HalfWidth(1e-3), 3 * calm);
  spread.Forget();
  EXPECT_EQ(spread.HalfWidth(1e-3), 0);
}

}  // namespace
}  // namespace fairlead::controller
