#include "traffic/c4p/share_balancer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "base/random.h"

namespace fairlead::traffic::c4p {
namespace {

using testing::HasSubstr;

double Sum(std::span<const double> values) { return std::accumulate(values.begin(), values.end(), 0.0); }

// Every QP ends a part of one byte at the time, with the given speed in bytes/s; 0 = no message.
void Record(ShareBalancer* balancer, const std::vector<double>& speeds, double at) {
  for (size_t q = 0; q < speeds.size(); ++q) {
    if (speeds[q] > 0) balancer->RecordPart(q, Bytes(1), Seconds(1 / speeds[q]), SimTime::FromSeconds(Seconds(at)));
  }
}

void ExpectShares(const ShareBalancer& balancer, const std::vector<double>& expected) {
  for (size_t q = 0; q < expected.size(); ++q) EXPECT_NEAR(balancer.shares()[q], expected[q], 1e-12) << "QP " << q;
}

// Speeds 1:2:3:4 want T = 0.1 .. 0.4. After k periods s - T = 2^-k (0.25 - T), so that s/T - 1 = 2^-k {1.5, 0.25, -1/6,
// -0.375}. Longest over shortest part is (1 + 1.5 / 2^k) / (1 - 0.375 / 2^k): 1.12 for k = 4, 1.06 < 1.1 for k = 5.
TEST(ShareBalancerTest, HalvesTheDistanceUntilPartsEndTogether) {
  ShareBalancer balancer(4, 1);
  for (int k = 1; k <= 5; ++k) {
    Record(&balancer, {1, 2, 3, 4}, k);
    ASSERT_EQ(balancer.Rebalance(), RebalanceOutcome::kMoved) << k;
    const double left = std::exp2(-k);
    ExpectShares(balancer, {0.1 + 0.15 * left, 0.2 + 0.05 * left, 0.3 - 0.05 * left, 0.4 - 0.15 * left});
  }
  Record(&balancer, {1, 2, 3, 4}, 6);
  EXPECT_EQ(balancer.Rebalance(), RebalanceOutcome::kBalanced);
}

// Speeds 1:1:1:97 want 0.0125 (the floor, above 0.01) three times and 0.9625: half of the way would be 0.35625 of the
// bytes, more than 0.25.
TEST(ShareBalancerTest, MovesAQuarterOfTheBytesAtMostAndKeepsTheFloor) {
  ShareBalancer balancer(4, 1);
  Record(&balancer, {1, 1, 1, 97}, 1);
  ASSERT_EQ(balancer.Rebalance(), RebalanceOutcome::kMoved);
  ExpectShares(balancer, {0.25 - 0.25 / 3, 0.25 - 0.25 / 3, 0.25 - 0.25 / 3, 0.5});
  for (int k = 2; k < 50; ++k) {
    Record(&balancer, {1, 1, 1, 97}, k);
    (void)balancer.Rebalance();
  }
  // Balanced from the first time that 1 + x / 0.0125 < 1.1 (1 - 3x / 0.9625) on, with x the way left to the floor.
  for (size_t q = 0; q < 3; ++q) {
    EXPECT_GE(balancer.shares()[q], 0.0125);
    EXPECT_LT(balancer.shares()[q], 0.0125 * 1.1);
  }
}

// One half life after a message with tau = 1 another one has tau = 3: the mean is (0.5 * 1 + 3) / 1.5 = 7/3. Against
// tau = 1 the shares wanted are 0.3 and 0.7, and half of the way from 0.5 is 0.4. That the messages of QP 1 come at odd
// times is of no matter.
TEST(ShareBalancerTest, MessagesCountHalfAfterAHalfLife) {
  ShareBalancer balancer(2, 1);
  Record(&balancer, {1, 1}, 10);
  for (const double at : {10.0, 10.001, 10.7, 10.71}) Record(&balancer, {0, 1}, at);
  Record(&balancer, {1.0 / 3, 1}, 11);
  EXPECT_EQ(balancer.Rebalance(), RebalanceOutcome::kMoved);
  ExpectShares(balancer, {0.4, 0.6});
}

// A report from before the last message counts as that one: tau is (0.5 + 3 + 1) s / 2.5 B = 1.8 s/B, the share wanted
// 1 / 2.8, and half of the way from 0.5 is 3/7.
TEST(ShareBalancerTest, LateReportsCountInFull) {
  ShareBalancer balancer(2, 1);
  Record(&balancer, {1, 1}, 10);
  Record(&balancer, {1.0 / 3, 1}, 11);
  Record(&balancer, {1, 1}, 5);
  EXPECT_EQ(balancer.Rebalance(), RebalanceOutcome::kMoved);
  ExpectShares(balancer, {3.0 / 7, 4.0 / 7});
}

TEST(ShareBalancerTest, WithoutNewsNothingChanges) {
  ShareBalancer balancer(2, 1);
  EXPECT_EQ(balancer.Rebalance(), RebalanceOutcome::kNoNews);
  Record(&balancer, {1, 3}, 1);
  EXPECT_EQ(balancer.Rebalance(), RebalanceOutcome::kMoved);
  const std::vector<double> shares(balancer.shares().begin(), balancer.shares().end());
  EXPECT_EQ(balancer.Rebalance(), RebalanceOutcome::kNoNews);
  ExpectShares(balancer, shares);
}

TEST(ShareBalancerTest, UnmeasuredQueuePairsKeepTheirShare) {
  ShareBalancer balancer(4, 1);
  Record(&balancer, {1, 3, 0, 0}, 1);
  EXPECT_EQ(balancer.Rebalance(), RebalanceOutcome::kMoved);
  // T = 0.125 and 0.375 of the half that QPs 0 and 1 had.
  ExpectShares(balancer, {0.1875, 0.3125, 0.25, 0.25});
}

TEST(ShareBalancerTest, APathThatGoesDownLeavesItsShareInProportion) {
  ShareBalancer balancer(4, 1);
  for (int k = 1; k <= 5; ++k) {
    Record(&balancer, {1, 2, 3, 4}, k);
    (void)balancer.Rebalance();
  }
  const std::vector<double> before(balancer.shares().begin(), balancer.shares().end());
  balancer.SetPathUp(3, false);
  const double rest = 1 - before[3];
  ExpectShares(balancer, {before[0] / rest, before[1] / rest, before[2] / rest, 0});
  Record(&balancer, {0, 0, 0, 4}, 6);  // a late report
  EXPECT_EQ(balancer.Rebalance(), RebalanceOutcome::kNoNews);

  balancer.SetPathUp(3, true);
  EXPECT_NEAR(balancer.shares()[3], 0.0125, 1e-12);
  EXPECT_NEAR(Sum(balancer.shares()), 1, 1e-12);
  Record(&balancer, {1, 2, 3, 0}, 6.5);  // its history is forgotten, so that it isn't preferred
  (void)balancer.Rebalance();
  EXPECT_NEAR(balancer.shares()[3], 0.0125, 1e-12);
  double share = balancer.shares()[3];
  for (int k = 7; k < 12; ++k) {  // it grows although by tau alone all are equal
    Record(&balancer, {1, 1, 1, 1}, k);
    const bool moved = balancer.Rebalance() == RebalanceOutcome::kMoved;
    EXPECT_GE(balancer.shares()[3], moved ? share * 1.01 : share);
    share = balancer.shares()[3];
  }
  EXPECT_GT(share, 0.2);
}

TEST(ShareBalancerTest, WhenAllAreDownSharesStayUntilOneIsUp) {
  ShareBalancer balancer(3, 1);
  balancer.SetPathUp(0, false);
  balancer.SetPathUp(1, false);
  EXPECT_FALSE(balancer.all_down());
  balancer.SetPathUp(2, false);
  EXPECT_TRUE(balancer.all_down());
  EXPECT_EQ(balancer.Rebalance(), RebalanceOutcome::kAllDown);
  ExpectShares(balancer, {0, 0, 1});
  balancer.SetPathUp(1, true);
  ExpectShares(balancer, {0, 1, 0});
}

TEST(ShareBalancerTest, SharesAreLegalWhateverHappens) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    const size_t n = 1 + random.Below(9);
    const ShareOptions options;
    ShareBalancer balancer(n, seed, options);
    std::vector<bool> up(n, true);
    for (int step = 0; step < 300; ++step) {
      const size_t q = random.Below(n);
      const std::vector<double> before(balancer.shares().begin(), balancer.shares().end());
      if (random.Below(20) == 0) {
        up[q] = random.Below(2) == 0;
        balancer.SetPathUp(q, up[q]);
      } else if (random.Below(5) > 0) {
        // From nanoseconds to hours per byte, seconds to hours apart, and now and then back in time.
        balancer.RecordPart(q, Bytes(1 + random.Exponential(1e6)), Seconds(std::exp(random.Uniform(-20, 10))),
                            SimTime::FromSeconds(Seconds(step * random.Exponential(100))));
      } else {
        const RebalanceOutcome outcome = balancer.Rebalance();
        double moved = 0;
        for (size_t i = 0; i < n; ++i) moved += std::abs(balancer.shares()[i] - before[i]) / 2;
        EXPECT_LE(moved, outcome == RebalanceOutcome::kMoved ? 0.25 + 1e-9 : 0);
      }
      ASSERT_NEAR(Sum(balancer.shares()), 1, 1e-12);
      const bool all_down = std::count(up.begin(), up.end(), true) == 0;
      ASSERT_EQ(balancer.all_down(), all_down);
      for (size_t i = 0; i < n && !all_down; ++i) {
        const double least = up[i] ? options.floor / static_cast<double>(n) : 0;
        ASSERT_GE(balancer.shares()[i], least * (1 - 1e-12));
        ASSERT_TRUE(up[i] || balancer.shares()[i] == 0);
      }
    }
  }
}

// 1,000 uniform draws in [0.8, 1.2] have a mean of 1 with standard deviation 0.4 / sqrt(12 * 1000) = 0.0037.
TEST(ShareBalancerTest, PeriodsAreJittered) {
  ShareBalancer first(2, 1);
  ShareBalancer second(2, 2);
  double sum = 0;
  int equal = 0;
  for (int k = 0; k < 1000; ++k) {
    const double period = first.NextPeriod().value();
    EXPECT_GE(period, 0.8);
    EXPECT_LE(period, 1.2);
    sum += period;
    equal += period == second.NextPeriod().value() ? 1 : 0;
  }
  EXPECT_NEAR(sum / 1000, 1, 5 * 0.0037);
  EXPECT_EQ(equal, 0);
}

TEST(ShareBalancerTest, OptionsSayWhatIsWrong) {
  EXPECT_TRUE(ShareOptions().Validate().ok());
  ShareOptions options;
  options.damping = 0;
  EXPECT_THAT(options.Validate().message(), HasSubstr("damping: expected a fraction in (0, 1], found 0"));
  options = {};
  options.stop_ratio = 0.9;
  EXPECT_THAT(options.Validate().message(), HasSubstr("stop_ratio: expected >= 1, found 0.9"));
  options = {};
  options.half_life = Seconds(NAN);
  EXPECT_THAT(options.Validate().message(), HasSubstr("half_life: expected a time > 0 s, found nan"));
}

}  // namespace
}  // namespace fairlead::traffic::c4p
