// Against the same numbers sorted.
#include "base/statistics.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fairlead {
namespace {

TEST(StatisticsTest, NothingIsZero) {
  EXPECT_EQ(Mean({}), 0);
  EXPECT_EQ(Median({}), 0);
  EXPECT_EQ(QuantileInPlace({}, 0.5), 0);
  EXPECT_EQ(MedianDeviationInPlace({}, 3), 0);
}

TEST(StatisticsTest, WorkedExample) {
  const std::vector<double> values = {40, 10, 20, 30};
  EXPECT_EQ(Mean(values), 25);
  EXPECT_EQ(Median(values), 25);
  EXPECT_EQ(Median({3, 1, 2}), 2);
  std::vector<double> copy = values;
  EXPECT_EQ(QuantileInPlace(copy, 0.5), 25);
  EXPECT_EQ(QuantileInPlace(copy, 0.1), 13);        // position 0.3
  EXPECT_EQ(MedianDeviationInPlace(copy, 10), 15);  // of 0, 10, 20, 30
  EXPECT_EQ(NearestRank(values, 0.25), 10);
  EXPECT_EQ(NearestRank(values, 0.26), 20);
  EXPECT_EQ(NearestRank({7}, 0.01), 7);
  EXPECT_EQ(NearestRank(values, 1), 40);
  std::vector<double> hundred(100);
  std::iota(hundred.begin(), hundred.end(), 1);
  EXPECT_EQ(NearestRank(hundred, 0.07), 7);  // 0.07 * 100 is more than 7 in doubles
}

RC_GTEST_PROP(StatisticsTest, LikeTheSortedList, (std::vector<int> drawn, unsigned percent)) {
  RC_PRE(!drawn.empty());
  const std::vector<double> values(drawn.begin(), drawn.end());
  std::vector<double> sorted = values;
  std::ranges::sort(sorted);
  const size_t last = sorted.size() - 1;
  RC_ASSERT(Median(values) == (sorted[last / 2] + sorted[(last + 1) / 2]) / 2);
  const double share = (percent % 100 + 1) / 100.0;
  std::vector<double> copy = values;
  const double quantile = QuantileInPlace(copy, share);
  const double position = share * static_cast<double>(last);
  RC_ASSERT(quantile >= sorted[static_cast<size_t>(std::floor(position))]);
  RC_ASSERT(quantile <= sorted[static_cast<size_t>(std::ceil(position))]);
  const double ranked = NearestRank(values, share);
  const auto count = static_cast<double>(sorted.size());
  RC_ASSERT(static_cast<double>(std::ranges::upper_bound(sorted, ranked) - sorted.begin()) >= share * count - 1e-9);
  RC_ASSERT(static_cast<double>(std::ranges::lower_bound(sorted, ranked) - sorted.begin()) < share * count);
}

}  // namespace
}  // namespace fairlead
