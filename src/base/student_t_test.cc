// Against the printed tables of Student's t, and against drawn numbers.
#include "base/student_t.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace fairlead {
namespace {

// Two-sided 95 % and 99 %, from the tables of Abramowitz and Stegun (26.10).
TEST(StudentTTest, LikeThePrintedTables) {
  struct Row {
    uint32_t degrees;
    double at95, at99;
  };
  for (const Row& row : {Row{1, 12.706, 63.657}, Row{2, 4.303, 9.925}, Row{3, 3.182, 5.841}, Row{4, 2.776, 4.604},
                         Row{5, 2.571, 4.032}, Row{9, 2.262, 3.250}, Row{10, 2.228, 3.169}, Row{29, 2.045, 2.756},
                         Row{30, 2.042, 2.750}, Row{120, 1.980, 2.617}}) {
    EXPECT_NEAR(StudentTQuantile(0.95, row.degrees), row.at95, 6e-4) << row.degrees;
    EXPECT_NEAR(StudentTQuantile(0.99, row.degrees), row.at99, 6e-4) << row.degrees;
  }
  EXPECT_NEAR(StudentTQuantile(0.95, 9999), 1.9602, 1e-4);
}

TEST(StudentTTest, TheQuantileUndoesTheProbability) {
  Random random(1);
  for (int i = 0; i < 200; ++i) {
    const auto degrees = static_cast<uint32_t>(1 + random.Below(60));
    const double probability = random.Uniform(0.01, 0.995);
    EXPECT_NEAR(StudentTProbability(StudentTQuantile(probability, degrees), degrees), probability, 1e-9) << degrees;
  }
  EXPECT_EQ(StudentTProbability(0, 3), 0);
  EXPECT_NEAR(StudentTProbability(1, 1), 0.5, 1e-12);  // Cauchy: half lies within 1
}

// Of the intervals that five normal numbers give, 95 % hold the true mean; 10,000 trials leave 0.2 % of noise.
TEST(StudentTTest, IntervalsHoldTheTrueMeanAsOftenAsTheySay) {
  Random random(2);
  const double t = StudentTQuantile(0.95, 4);
  int num_held = 0;
  for (int trial = 0; trial < 10'000; ++trial) {
    double sum = 0, squares = 0;
    for (int i = 0; i < 5; ++i) {
      const double x = std::sqrt(-2 * std::log(1 - random.Uniform())) * std::cos(6.283185307179586 * random.Uniform());
      sum += x;
      squares += x * x;
    }
    const double mean = sum / 5;
    const double deviation = std::sqrt((squares - 5 * mean * mean) / 4);
    num_held += std::abs(mean) <= t * deviation / std::sqrt(5.0) ? 1 : 0;
  }
  EXPECT_NEAR(num_held / 10'000.0, 0.95, 0.008);
}

}  // namespace
}  // namespace fairlead
