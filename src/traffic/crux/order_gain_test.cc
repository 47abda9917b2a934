#include "traffic/crux/order_gain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace fairlead::traffic::crux {
namespace {

// Computes for a second, then sends for `send_s` over the whole link.
LinkUser SendsFor(double send_s, double num_gpus = 8) {
  return {.num_gpus = num_gpus, .compute_time = Seconds(1), .communication_time = Seconds(send_s)};
}

TEST(OrderGainTest, JobsThatFitBesideEachOtherGainNothing) {
  LinkUser half = SendsFor(1);
  half.demand = 0.5;
  EXPECT_EQ(GainOfOrder(half, half), 0);
  half.demand = 0.6;
  EXPECT_NE(GainOfOrder(half, SendsFor(2)), 0);
}

// The lower job could hide half of its speed behind its compute, so as an equal it loses nothing: max(1, 0.3 / 0.5) =
// 1. Below a job that sends for 9 of 10 s it is stalled in these: 1 - 0.9. The upper one, T = 10 s, beside a job that
// sends for 0.3 of the time: 1 + 9 / (1 - 0.3 * 0.5) = 11.59 s, speed 0.863.
TEST(OrderGainTest, AJobThatHidesItsCommunicationIsNotStoppedForALongBurst) {
  const LinkUser upper = SendsFor(9, 64);
  LinkUser lower = SendsFor(0.3, 32);
  lower.start_fraction = 0;
  const double won_gpus = 64 * (1 - 10 / (1 + 9 / 0.85)) - 32 * 0.9;
  const double won_slowdown = 32 * ((1 + 9 / 0.85) / 10 - 1 - (1 / 0.1 - 1));
  EXPECT_NEAR(GainOfOrder(upper, lower), std::min(won_gpus, won_slowdown), 1e-9);
  EXPECT_LT(GainOfOrder(upper, lower), 0);
}

// The upper job sends for a fifth of its 0.5 s. Beside a job that sends for 9 of 10 s it would be 1 / 0.85 times slower
// as an equal; below it, that one's 9 s become 11.25 s instead of 10 s.
TEST(OrderGainTest, AShortBurstGoesBeforeALongOne) {
  LinkUser upper = SendsFor(0.1, 64);
  upper.compute_time = Seconds(0.4);
  const LinkUser lower = SendsFor(9, 8);
  EXPECT_GT(GainOfOrder(upper, lower), 0);
  EXPECT_LT(GainOfOrder(lower, upper), 0);
}

// An order never wins more than the upper job can lose, and more GPUs above never make it worth less in GPUs.
TEST(OrderGainTest, GainsAreFiniteAndBounded) {
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    const auto draw = [&] {
      return LinkUser{.num_gpus = random.Uniform(1, 100),
                      .compute_time = Seconds(random.Uniform(0, 2)),
                      .communication_time = Seconds(random.Uniform(1e-3, 5)),
                      .start_fraction = random.Uniform(),
                      .demand = random.Uniform(0.1, 1),
                      .num_flows = static_cast<uint32_t>(1 + random.Below(8))};
    };
    const LinkUser upper = draw();
    const LinkUser lower = draw();
    const double gain = GainOfOrder(upper, lower);
    EXPECT_TRUE(std::isfinite(gain));
    EXPECT_LE(gain, upper.num_gpus);
  }
}

}  // namespace
}  // namespace fairlead::traffic::crux
