// Laws of the three correlations, and Kendall's by its definition.
#include "prediction/correlations.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"

namespace fairlead::prediction {
namespace {

struct Columns {
  std::vector<double> x, y;
};

// Few different values, so that there are ties of all kinds.
Columns RandomColumns(Random& random) {
  Columns columns;
  const size_t count = 2 + random.Below(40);
  const uint64_t values = 2 + random.Below(30);
  for (size_t i = 0; i < count; ++i) {
    columns.x.push_back(static_cast<double>(random.Below(values)));
    columns.y.push_back(static_cast<double>(random.Below(values)) + columns.x.back() * 0.5);
  }
  return columns;
}

int Sign(double v) { return (v > 0) - (v < 0); }

double KendallOverAllPairs(const Columns& c) {
  double difference = 0;
  double untied_x = 0;
  double untied_y = 0;
  for (size_t i = 0; i < c.x.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      difference += Sign(c.x[i] - c.x[j]) * Sign(c.y[i] - c.y[j]);
      untied_x += c.x[i] != c.x[j];
      untied_y += c.y[i] != c.y[j];
    }
  }
  return untied_x > 0 && untied_y > 0 ? difference / std::sqrt(untied_x * untied_y) : 0;
}

TEST(CorrelationsTest, KendallEqualsItsDefinition) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Columns c = RandomColumns(random);
    EXPECT_NEAR(KendallTauB(c.x, c.y), KendallOverAllPairs(c), 1e-12);
  }
}

TEST(CorrelationsTest, InvariantUnderTheirMaps) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Columns c = RandomColumns(random);
    Columns curved = c;
    for (double& v : curved.x) v = std::exp(v / 5);
    Columns straight = c;
    for (double& v : straight.x) v = 3 * v - 7;
    EXPECT_NEAR(SpearmanCorrelation(curved.x, c.y), SpearmanCorrelation(c.x, c.y), 1e-12);
    EXPECT_NEAR(KendallTauB(curved.x, c.y), KendallTauB(c.x, c.y), 1e-12);
    EXPECT_NEAR(PearsonCorrelation(straight.x, c.y), PearsonCorrelation(c.x, c.y), 1e-12);
    for (const auto correlate : {PearsonCorrelation, SpearmanCorrelation, KendallTauB}) {
      EXPECT_NEAR(correlate(c.x, c.y), correlate(c.y, c.x), 1e-12);
      EXPECT_LE(std::abs(correlate(c.x, c.y)), 1);
    }
  }
}

// x = 1 2 3 4, y = 1 3 2 4: one of six pairs is discordant, tau = (5 - 1) / 6; rank differences 0 1 1 0,
// rho = 1 - 6 x 2 / (4 x 15) = 0.8.
TEST(CorrelationsTest, WorkedExample) {
  const std::vector<double> x = {1, 2, 3, 4};
  const std::vector<double> y = {1, 3, 2, 4};
  EXPECT_NEAR(KendallTauB(x, y), 4.0 / 6, 1e-12);
  EXPECT_NEAR(SpearmanCorrelation(x, y), 0.8, 1e-12);
  EXPECT_NEAR(PearsonCorrelation(x, y), 0.8, 1e-12);
  const std::vector<double> falling = {9, 5, 2, 1};
  EXPECT_NEAR(KendallTauB(x, falling), -1, 1e-12);
}

TEST(CorrelationsTest, ConstantAndEmptyColumnsGoWithNothing) {
  const std::vector<double> constant = {2, 2, 2};
  const std::vector<double> x = {1, 2, 3};
  for (const auto correlate : {PearsonCorrelation, SpearmanCorrelation, KendallTauB}) {
    EXPECT_EQ(correlate(constant, x), 0);
    EXPECT_EQ(correlate({}, {}), 0);
  }
}

TEST(CorrelationsTest, TiesShareTheirRanks) {
  // 5 is first; both 7 share ranks 2 and 3; 9 is fourth.
  const std::vector<double> values = {7, 5, 9, 7};
  EXPECT_EQ(AverageRanks(values), (std::vector<double>{2.5, 1, 4, 2.5}));
}

}  // namespace
}  // namespace fairlead::prediction
