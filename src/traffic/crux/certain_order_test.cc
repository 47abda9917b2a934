#include "traffic/crux/certain_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include "base/random.h"

namespace fairlead::traffic::crux {
namespace {

PriorityOrder OrderOf(const std::vector<double>& priorities) {
  PriorityOrder order;
  order.jobs.resize(priorities.size());
  std::vector<JobProfile> profiles(priorities.size());
  for (uint32_t j = 0; j < priorities.size(); ++j) {
    profiles[j].id = JobId(j);
    order.jobs[j].priority = FlopPerSecond(priorities[j]);
  }
  RankByPriority(profiles, &order);
  return order;
}

std::vector<uint32_t> Keep(const std::vector<double>& priorities, const std::vector<double>& uncertainties,
                           const std::vector<uint32_t>& levels) {
  PriorityOrder order = OrderOf(priorities);
  KeepOrderWhereUncertain(uncertainties, levels, &order);
  return order.by_rank;
}

TEST(CertainOrderTest, TurnsOnlyByMoreThanBothUncertainties) {
  // ln 1.1 = 0.095; sqrt(0.06^2 + 0.08^2) = 0.1.
  EXPECT_EQ(Keep({1.0, 1.1}, {0.06, 0.08}, {0, 1}), (std::vector<uint32_t>{0, 1})) << "as the levels are";
  EXPECT_EQ(Keep({1.0, 1.1}, {0.06, 0.07}, {0, 1}), (std::vector<uint32_t>{1, 0})) << "0.092: certain";
  EXPECT_EQ(Keep({1.0, 1.1}, {0.06, 0.08}, {5, 5}), (std::vector<uint32_t>{1, 0})) << "no order in force";
  EXPECT_EQ(Keep({1.0, 1.1}, {0, 0}, {0, 1}), (std::vector<uint32_t>{1, 0})) << "nothing is uncertain";
}

// Of all orders that respect what is certain, by hand: no pair of neighbours could be turned to agree with the levels.
TEST(CertainOrderTest, RespectsWhatIsCertainAndElseTheLevels) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const size_t n = 1 + random.Below(6);
    std::vector<double> priorities, uncertainties;
    std::vector<uint32_t> levels;
    for (size_t j = 0; j < n; ++j) {
      priorities.push_back(std::exp(random.Uniform(0, 1)));
      uncertainties.push_back(random.Uniform(0, 0.4));
      levels.push_back(static_cast<uint32_t>(random.Below(3)));
    }
    const auto is_certain = [&](uint32_t a, uint32_t b) {
      return std::log(priorities[a] / priorities[b]) > std::hypot(uncertainties[a], uncertainties[b]);
    };
    PriorityOrder order = OrderOf(priorities);
    KeepOrderWhereUncertain(uncertainties, levels, &order);
    ASSERT_EQ(std::set<uint32_t>(order.by_rank.begin(), order.by_rank.end()).size(), n);
    for (uint32_t rank = 0; rank < n; ++rank) EXPECT_EQ(order.jobs[order.by_rank[rank]].rank, rank);
    for (size_t i = 0; i < n; ++i) {
      for (size_t k = i + 1; k < n; ++k) {
        EXPECT_FALSE(is_certain(order.by_rank[k], order.by_rank[i])) << "seed " << seed;
      }
    }
    for (size_t i = 0; i + 1 < n; ++i) {
      const uint32_t a = order.by_rank[i];
      const uint32_t b = order.by_rank[i + 1];
      EXPECT_TRUE(is_certain(a, b) || levels[a] <= levels[b]) << "seed " << seed;
    }
  }
}

// Two similar jobs, measured repeatedly with the reported noise: their order in force does not turn in a thousand
// measurements. Their interval is 3.09 deviations wide, so a difference of two exceeds both with a chance of 1 in 500
// for each pair of sides; without it they would change places every other time.
TEST(CertainOrderTest, NoiseDoesNotTurnTheOrder) {
  Random random(7);
  const auto normal = [&] {
    double sum = 0;
    for (int i = 0; i < 12; ++i) sum += random.Uniform();
    return sum - 6;
  };
  int turned = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::vector<double> priorities = {std::exp(0.05 * normal()), std::exp(0.05 * normal())};
    if (Keep(priorities, {3.09 * 0.05, 3.09 * 0.05}, {0, 1}).front() != 0) ++turned;
  }
  EXPECT_LE(turned, 5);
}

}  // namespace
}  // namespace fairlead::traffic::crux
