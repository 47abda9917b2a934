// The saturating curve: recovery, published coefficients, refusals, and that more cores never slow down.
#include "prediction/cpu_efficiency.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "base/random.h"

namespace fairlead::prediction {
namespace {

using testing::HasSubstr;

std::vector<CpuSpeed> Sample(const CpuEfficiency& curve, double first, double last, int count) {
  std::vector<CpuSpeed> speeds;
  for (int i = 0; i < count; ++i) {
    const double cores = first + (last - first) * i / (count - 1);
    speeds.push_back({cores, curve.Speed(cores)});
  }
  return speeds;
}

TEST(CpuEfficiencyTest, RecoversCurvesWithoutNoise) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const CpuEfficiency truth{.drop = random.Uniform(0.5, 5), .rate = random.Uniform(0.2, 2), .limit = 6};
    const auto fit = FitCpuEfficiency(Sample(truth, 1, 6, 8));
    ASSERT_TRUE(fit.ok()) << fit.status().message();
    EXPECT_NEAR(fit->rate, truth.rate, 1e-6 * truth.rate);
    EXPECT_NEAR(fit->drop, truth.drop, 1e-6 * truth.drop);
    EXPECT_NEAR(fit->limit, truth.limit, 1e-6);
  }
}

// E(c) = 9.4 - 11.13 exp(-1.05 c): E(1) = 9.4 - 11.13 x 0.34994 = 5.50519; E(5) = 9.4 - 11.13 x 0.005248 = 9.34160.
TEST(CpuEfficiencyTest, PublishedWorkerOfResnet50) {
  const CpuEfficiency worker{.drop = 11.13, .rate = 1.05, .limit = 9.4};
  EXPECT_NEAR(worker.Speed(1), 5.50519, 1e-4);
  EXPECT_NEAR(worker.Speed(5), 9.34160, 1e-4);
  EXPECT_NEAR(worker.SlowDown(5), 5.50519 / 9.34160, 1e-5);
  EXPECT_DOUBLE_EQ(worker.SlowDown(1), 1);
}

// googlenet's worker, 16.68 - 19.01 exp(-0.6058 c), is negative below 0.22 cores; half a core counts there.
TEST(CpuEfficiencyTest, SlowDownIsPositiveAndNeverGrows) {
  const CpuEfficiency published{.drop = 19.01, .rate = 0.6058, .limit = 16.68};
  const CpuEfficiency steep{.drop = 2.7, .rate = 1, .limit = 1};  // E(1) = 0.0067, E(0.5) < 0: the cap is at work
  for (const CpuEfficiency& curve : {published, steep}) {
    double last = std::numeric_limits<double>::infinity();
    for (double cores = 0; cores < 20; cores += 0.05) {
      const double slow_down = curve.SlowDown(cores);
      EXPECT_GT(slow_down, 0) << cores;
      EXPECT_LE(slow_down, kSlowDownMax * (1 + 1e-12)) << cores;
      EXPECT_LE(slow_down, last * (1 + 1e-12)) << cores;
      last = slow_down;
    }
  }
  EXPECT_EQ(published.SlowDown(0.1), published.SlowDown(0.5));
}

TEST(CpuEfficiencyTest, RefusesWhatHasNoCurve) {
  EXPECT_THAT(FitCpuEfficiency({}).status().message(), HasSubstr("found 0"));
  const std::vector<CpuSpeed> two = {{1, 1}, {2, 2}, {2, 2.1}};
  EXPECT_THAT(FitCpuEfficiency(two).status().message(), HasSubstr("found 2"));
  // mobilenet's published server falls with cores.
  const std::vector<CpuSpeed> falling = {{1, 3}, {2, 2}, {3, 1.5}, {4, 1.2}};
  EXPECT_THAT(FitCpuEfficiency(falling).status().message(), HasSubstr("does not grow with cores"));
  const std::vector<CpuSpeed> broken = {{1, 1}, {2, std::numeric_limits<double>::quiet_NaN()}, {3, 2}};
  EXPECT_THAT(FitCpuEfficiency(broken).status().message(), HasSubstr("2 cores at speed nan"));
}

}  // namespace
}  // namespace fairlead::prediction
