#include "traffic/sincronia/bssi_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "base/random.h"

namespace fairlead::traffic::sincronia {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Coflows = std::vector<std::vector<LinkLoad>>;

// Rows of loads per link; 0 = none.
Coflows FromMatrix(const std::vector<std::vector<double>>& rows) {
  Coflows coflows;
  for (const std::vector<double>& row : rows) {
    std::vector<LinkLoad>& loads = coflows.emplace_back();
    for (uint32_t l = 0; l < row.size(); ++l) {
      if (row[l] > 0) loads.push_back({l, row[l]});
    }
  }
  return coflows;
}

TEST(BssiOrderTest, FirstWorkedOrder) {
  // Loads (6, 7): link 1; w/d = 1, 1/2, 1/4: coflow 2 last. Weights 3/4 and 1/2; loads (5, 3): link 0; 3/4 / 3 = 1/4
  // ties 1/2 / 2 = 1/4: the higher id, coflow 1, is next to last.
  EXPECT_THAT(FindBssiOrder(FromMatrix({{3, 1}, {2, 2}, {1, 4}})), ElementsAre(0, 1, 2));
}

TEST(BssiOrderTest, SecondWorkedOrder) {
  // Loads (7, 9): link 1; w/d = -, 1/3, 1, 1/5: coflow 3 last. Weights 1, 1 - 3/5 = 2/5, 1 - 1/5 = 4/5. Loads (7, 4):
  // link 0; 1/4, 1/5, 4/5: coflow 1. Weights 1 - 4/5 = 1/5, -, 4/5 - 1/5 = 3/5. Loads (5, 1): link 0; 1/20, 3/5:
  // coflow 0. Then coflow 2.
  EXPECT_THAT(FindBssiOrder(FromMatrix({{4, 0}, {2, 3}, {1, 1}, {0, 5}})), ElementsAre(2, 0, 1, 3));
}

TEST(BssiOrderTest, OnOneLinkTheSmallestGoesFirst) {
  EXPECT_THAT(FindBssiOrder(FromMatrix({{5}, {1}, {3}, {2}})), ElementsAre(1, 3, 2, 0));
}

TEST(BssiOrderTest, EqualCoflowsGoById) {
  // Ties place the highest id last, again and again.
  EXPECT_THAT(FindBssiOrder(FromMatrix({{1, 1}, {1, 1}, {1, 1}})), ElementsAre(0, 1, 2));
}

TEST(BssiOrderTest, NoJobsAndNoLinks) {
  EXPECT_THAT(FindBssiOrder({}), IsEmpty());
  EXPECT_THAT(FindBssiOrder(FromMatrix({{0}, {2}, {0}})), ElementsAre(0, 2, 1));
}

// Sum of completion times where the completion of a coflow is the greatest prefix sum of loads over its links.
double TotalCompletion(const std::vector<std::vector<double>>& rows, const std::vector<uint32_t>& order) {
  std::vector<double> sums(rows[0].size(), 0.0);
  double total = 0;
  for (const uint32_t c : order) {
    double completion = 0;
    for (size_t l = 0; l < sums.size(); ++l) {
      sums[l] += rows[c][l];
      if (rows[c][l] > 0) completion = std::max(completion, sums[l]);
    }
    total += completion;
  }
  return total;
}

TEST(BssiOrderTest, AtMostTwiceTheBestOfAllOrders) {
  double worst = 1;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    std::vector<std::vector<double>> rows(1 + random.Below(6), std::vector<double>(1 + random.Below(4)));
    for (std::vector<double>& row : rows) {
      for (double& load : row) load = random.Uniform() < 0.6 ? random.Uniform(0.1, 5) : 0;
    }
    const std::vector<uint32_t> order = FindBssiOrder(FromMatrix(rows));
    std::vector<uint32_t> any(rows.size());
    std::iota(any.begin(), any.end(), 0u);
    ASSERT_TRUE(std::is_permutation(order.begin(), order.end(), any.begin(), any.end())) << "seed " << seed;
    double best = std::numeric_limits<double>::infinity();
    do {
      best = std::min(best, TotalCompletion(rows, any));
    } while (std::next_permutation(any.begin(), any.end()));
    if (best == 0) continue;
    worst = std::max(worst, TotalCompletion(rows, order) / best);
  }
  EXPECT_LE(worst, 2);
  EXPECT_GT(worst, 1) << "a heuristic that is always optimal was not tested";
}

TEST(BssiOrderTest, TheUnitOfTimeDoesNotMatter) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    Coflows coflows(6);
    for (std::vector<LinkLoad>& loads : coflows) {
      for (uint32_t l = 0; l < 4; ++l) loads.push_back({l, random.Uniform(0.1, 5)});
    }
    Coflows scaled = coflows;
    for (std::vector<LinkLoad>& loads : scaled) {
      for (LinkLoad& load : loads) load.seconds *= 1024;
    }
    EXPECT_EQ(FindBssiOrder(scaled), FindBssiOrder(coflows));
  }
}

}  // namespace
}  // namespace fairlead::traffic::sincronia
