#include "traffic/c4p/coupon_collector.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"

namespace fairlead::traffic::c4p {
namespace {

// The least number of draws after which all paths have been seen with probability >= 1 - miss: the number of seen paths
// is a Markov chain that goes from j to j + 1 with probability (k - j) / k.
uint64_t ExactDrawsToSeeAll(uint32_t k, double miss) {
  std::vector<double> seen(k + 1, 0.0);
  seen[0] = 1;
  uint64_t draws = 0;
  for (; seen[k] < 1 - miss; ++draws) {
    for (uint32_t j = k; j >= 1; --j) seen[j] = seen[j] * j / k + seen[j - 1] * (k - j + 1) / k;
    seen[0] = 0;
  }
  return draws;
}

// Draws until the last of k paths shows up, simulated once.
uint64_t DrawUntilAllSeen(uint32_t k, Random* random) {
  std::vector<bool> seen(k, false);
  uint64_t draws = 0;
  for (uint32_t missing = k; missing > 0; ++draws) {
    const uint64_t path = random->Below(k);
    if (!seen[path]) --missing;
    seen[path] = true;
  }
  return draws;
}

TEST(CouponCollectorTest, ExpectationsOfTheSpecification) {
  EXPECT_DOUBLE_EQ(ExpectedDrawsToSeeAll(0), 0);
  EXPECT_DOUBLE_EQ(ExpectedDrawsToSeeAll(1), 1);
  EXPECT_DOUBLE_EQ(ExpectedDrawsToSeeAll(2), 3);  // 1, then a coin until it shows the other side
  EXPECT_EQ(std::ceil(ExpectedDrawsToSeeAll(8)), 22);
  EXPECT_EQ(std::ceil(ExpectedDrawsToSeeAll(64)), 304);
}

TEST(CouponCollectorTest, SimulationAgrees) {
  // The variance of the number of draws is below k^2 pi^2 / 6, so that the mean of 4,000 games deviates by 4 standard
  // errors = 4 k 1.29 / 63 = 0.082 k in less than one of 10,000 seeds. Of 4,000 games, 1 % miss a path: 40 +- 6.3.
  constexpr int kGames = 4000;
  Random random(3);
  for (const uint32_t k : {8u, 64u}) {
    const uint64_t enough = DrawsToSeeAll(k, 0.01);
    double total = 0;
    int missed = 0;
    for (int game = 0; game < kGames; ++game) {
      const uint64_t draws = DrawUntilAllSeen(k, &random);
      total += static_cast<double>(draws);
      if (draws > enough) ++missed;
    }
    EXPECT_NEAR(total / kGames, ExpectedDrawsToSeeAll(k), 0.082 * k);
    EXPECT_LE(missed, 40 + 4 * 6.3) << k;
  }
}

TEST(CouponCollectorTest, BoundSufficesAndIsTight) {
  for (const uint32_t k : {1u, 2u, 3u, 8u, 16u, 64u, 128u}) {
    for (const double miss : {0.3, 0.1, 0.01, 1e-6}) {
      const uint64_t exact = ExactDrawsToSeeAll(k, miss);
      EXPECT_GE(DrawsToSeeAll(k, miss), exact) << k << ' ' << miss;
      // P(missing) is about 1 - exp(-u) where the bound is u, so the bound asks for k ln(-ln(1 - miss) / miss) more
      // draws: 0.54 to 0.6 of k * miss. One more for rounding up twice.
      EXPECT_LE(static_cast<double>(DrawsToSeeAll(k, miss)), static_cast<double>(exact) + 0.6 * k * miss + 1);
    }
  }
}

TEST(CouponCollectorTest, OneWantedPath) {
  EXPECT_EQ(DrawsToSeeOne(0, 0.01), 0u);
  EXPECT_EQ(DrawsToSeeOne(1, 0.01), 1u);
  EXPECT_EQ(DrawsToSeeOne(2, 0.25), 2u);   // a coin, twice
  EXPECT_EQ(DrawsToSeeOne(8, 0.01), 35u);  // (7/8)^34 = 0.0107, (7/8)^35 = 0.0093
  EXPECT_EQ(DrawsToSeeAll(0, 0.01), 0u);
  for (uint32_t k = 2; k < 70; ++k) EXPECT_LT(DrawsToSeeOne(k, 0.05), DrawsToSeeAll(k, 0.05));
}

}  // namespace
}  // namespace fairlead::traffic::c4p
