#include "sim/rate_window.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace fairlead::sim {
namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;

TEST(RateWindowTest, AsksForTimeAndIterations) {
  // Iterations of 1 s: 60 s are enough. Of 5 s: twenty of them, of which fifteen after the first quarter: 100 s.
  RateWindow fast(1, 0), slow(1, 0);
  for (int64_t t = 1; t <= 100; ++t) {
    fast.Add(0, t * kNsPerSecond);
    EXPECT_EQ(fast.Look(t * kNsPerSecond).has_value(), t >= 60) << t;
    if (t % 5 == 0) slow.Add(0, t * kNsPerSecond);
    EXPECT_EQ(slow.Look(t * kNsPerSecond).has_value(), t >= 100) << t;
  }
  EXPECT_NEAR(fast.Look(100 * kNsPerSecond)->iterations_per_ns[0] * kNsPerSecond, 1, 1e-12);
  EXPECT_EQ(fast.Look(100 * kNsPerSecond)->spread, 0);
}

TEST(RateWindowTest, ForgetsTheTransient) {
  // Twenty iterations of 2 s, then of 1 s: the first quarter of 160 s holds all of the slow ones.
  RateWindow window(1, 0);
  int64_t t = 0;
  for (int i = 0; i < 20; ++i) window.Add(0, t += 2 * kNsPerSecond);
  while (t < 160 * kNsPerSecond) window.Add(0, t += kNsPerSecond);
  EXPECT_NEAR(window.Look(t)->iterations_per_ns[0] * kNsPerSecond, 1, 1e-12);
}

TEST(RateWindowTest, WaitsUntilEveryJobHasSettled) {
  // Job 1 slows down by 1 % every ten seconds until 200 s.
  RateWindow window(2, 0);
  double length = 1;
  double next = 0;
  for (int64_t t = 1; t <= 2000; ++t) {
    window.Add(0, t * kNsPerSecond);
    if (t % 10 == 0 && t <= 200) length *= 1.01;
    for (; next < static_cast<double>(t); next += length) window.Add(1, static_cast<int64_t>(next * kNsPerSecond));
    const auto rates = window.Look(t * kNsPerSecond);
    if (!rates) continue;
    EXPECT_GT(t, 200) << "settled before the speed had";
    EXPECT_NEAR(1 / (rates->iterations_per_ns[1] * kNsPerSecond), length, 0.01 * length);
    EXPECT_LE(rates->spread, RateWindow::kSettledSpread);
    return;
  }
  FAIL() << "never settled";
}

TEST(RateWindowTest, SilentJobsNeverSettle) {
  RateWindow window(2, 0);
  for (int64_t t = 1; t <= 1000; ++t) {
    window.Add(0, t * kNsPerSecond);
    EXPECT_FALSE(window.Look(t * kNsPerSecond));
  }
}

}  // namespace
}  // namespace fairlead::sim
