#include "execution/noise.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fairlead::execution {
namespace {

// Of 200,000 numbers out of a table of 4,096: the deviation of the table's mean is cv / 64.
TEST(NoiseTable, HasMeanOneAndTheAskedVariation) {
  for (const double cv : {0.0, 0.05, 0.2, 0.5}) {
    NoiseTable table(cv, 1);
    double sum = 0;
    double squares = 0;
    constexpr int kCount = 200'000;
    for (int i = 0; i < kCount; ++i) {
      const double factor = table.Next();
      EXPECT_GT(factor, 0);
      sum += factor;
      squares += factor * factor;
    }
    const double mean = sum / kCount;
    EXPECT_NEAR(mean, 1, 5 * cv / 64 + 1e-6);
    EXPECT_NEAR(std::sqrt(std::max(0.0, squares / kCount - mean * mean)), cv, 0.1 * cv + 1e-3);
  }
}

TEST(NoiseOptions, NamesTheFault) {
  NoiseOptions noise;
  EXPECT_TRUE(noise.Validate().ok());
  noise.lost = 1.5;
  EXPECT_EQ(noise.Validate().message(), "noise: lost must be 0 to 1, it is 1.5");
  noise = NoiseOptions{};
  noise.report_period = SimDuration(0);
  EXPECT_FALSE(noise.Validate().ok());
}

}  // namespace
}  // namespace fairlead::execution
