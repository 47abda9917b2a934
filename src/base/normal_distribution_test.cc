#include "base/normal_distribution.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

// Tables: 95 % within 1.959964, 99.9 % within 3.290527.
TEST(NormalDistributionTest, QuantilesOfTheTables) {
  EXPECT_NEAR(NormalQuantile(0.5), 0, 1e-9);
  EXPECT_NEAR(NormalQuantile(0.975), 1.959963985, 1e-9);
  EXPECT_NEAR(NormalQuantile(0.025), -1.959963985, 1e-9);
  EXPECT_NEAR(NormalQuantile(0.9995), 3.290526731, 1e-9);
  EXPECT_NEAR(NormalDensity(0), 0.398942280, 1e-9);
}

TEST(NormalDistributionTest, TheQuantileInvertsTheDistribution) {
  for (const double p : {1e-9, 1e-4, 0.01, 0.3, 0.5, 0.7, 0.99})
    EXPECT_NEAR(NormalCdf(NormalQuantile(p)), p, 1e-9 * p + 1e-16);
}

}  // namespace
}  // namespace fairlead
