#include "sim/timeline.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/random.h"

namespace fairlead::sim {
namespace {

TEST(BinnedSumTest, SpreadsOverBins) {
  BinnedSum sum(SimTime(100), 10);
  sum.Add(SimTime(5), SimTime(25), 20);  // 5 in bin 0, 10 in bin 1, 5 in bin 2
  EXPECT_EQ(sum.bins()[0], 5);
  EXPECT_EQ(sum.bins()[1], 10);
  EXPECT_EQ(sum.bins()[2], 5);
  sum.Add(SimTime(30), SimTime(30), 7);  // an instant
  EXPECT_EQ(sum.bins()[3], 7);
  sum.Add(SimTime(95), SimTime(105), 10);  // half of it is past the end
  EXPECT_EQ(sum.bins()[9], 5);
  sum.Add(SimTime(100), SimTime(110), 10);
  EXPECT_EQ(std::accumulate(sum.bins().begin(), sum.bins().end(), 0.0), 32);
}

TEST(BinnedSumTest, NothingIsLostInside) {
  Random random(1);
  BinnedSum sum(SimTime(1'000'003), 97);
  double total = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto a = static_cast<int64_t>(random.Below(1'000'003));
    const auto b = static_cast<int64_t>(random.Below(1'000'003));
    sum.Add(SimTime(std::min(a, b)), SimTime(std::max(a, b)), 1);
    total += 1;
  }
  EXPECT_NEAR(std::accumulate(sum.bins().begin(), sum.bins().end(), 0.0), total, 1e-9);
}

}  // namespace
}  // namespace fairlead::sim
