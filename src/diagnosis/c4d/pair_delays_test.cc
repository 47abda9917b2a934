#include "diagnosis/c4d/pair_delays.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace fairlead::diagnosis::c4d {
namespace {

using model::RankId;

// Eight ranks in a ring; a message takes 1 ms times e^x.
class PairDelaysTest : public ::testing::Test {
 protected:
  PairDelaysTest() {
    for (uint32_t rank = 0; rank < 8; ++rank) Add(rank, (rank + 1) % 8, 0);
    delays_.sigma = 0.05;
  }

  void Add(uint32_t source, uint32_t destination, double x, uint8_t plane = 0) {
    ConnectionSample& sample = samples_.emplace_back();
    sample.source = RankId(source);
    sample.key.peer = RankId(destination);
    sample.key.plane = plane;
    sample.messages = 100;
    sample.log_seconds = std::log(0.001) + x;
    delays_.of.push_back({.is_known = true, .x = x});
  }
  void SetX(size_t i, double x) {
    delays_.of[i].x = x;
    samples_[i].log_seconds = std::log(0.001) + x;
  }
  std::vector<PairDelay> Judge(double window_seconds = 10) const {
    return JudgePairs(samples_, delays_, 8, window_seconds, {});
  }
  TransferHealth HealthOf(size_t i) const { return Judge()[i].transfer.health; }

  std::vector<ConnectionSample> samples_;
  ConnectionDelays delays_;
};

TEST_F(PairDelaysTest, HealthySlowAndBetween) {
  SetX(2, 0.1);  // more than half of log 1.2, less than it
  SetX(4, 0.3);
  EXPECT_EQ(HealthOf(0), TransferHealth::kHealthy);
  EXPECT_EQ(HealthOf(2), TransferHealth::kUnclear);
  EXPECT_EQ(HealthOf(4), TransferHealth::kSlow);
  samples_[4].error_2 = 0.11 * 0.11;
  EXPECT_EQ(HealthOf(4), TransferHealth::kUnclear) << "less than three standard errors";
  samples_[4].error_2 = 0;
  delays_.sigma = 0.11;
  EXPECT_EQ(HealthOf(4), TransferHealth::kUnclear) << "less than three sigma";
  delays_.sigma = 0.05;
  delays_.of[4].is_known = false;
  EXPECT_EQ(Judge().size(), 7u);
}

TEST_F(PairDelaysTest, WhatCostsNothingIsNotSlow) {
  SetX(4, 0.3);
  // 1.35 us instead of 1: 0.35 us more for each of 100 messages.
  samples_[4].log_seconds = std::log(1e-6) + 0.3;
  EXPECT_EQ(HealthOf(4), TransferHealth::kUnclear);
  samples_[4].messages = 1e6;  // 0.35 s of 10 s
  EXPECT_EQ(HealthOf(4), TransferHealth::kSlow);
  EXPECT_EQ(Judge(0)[4].transfer.health, TransferHealth::kUnclear) << "of how much is not known";
}

TEST_F(PairDelaysTest, UnevenBeyondMostIsSlow) {
  delays_.of[4].uneven_share = 0.3;
  EXPECT_EQ(HealthOf(4), TransferHealth::kSlow);
  for (ConnectionDelay& delay : delays_.of) delay.uneven_share = 0.3;
  EXPECT_EQ(HealthOf(4), TransferHealth::kHealthy) << "all are";
}

TEST_F(PairDelaysTest, ConnectionsOfAPairAndPlaneAreOne) {
  samples_[4].error_2 = 0.01;
  delays_.of[4].beyond_like = 0.2;
  Add(4, 5, 0.4);
  samples_.back().messages = 1000;
  samples_.back().error_2 = 0.03;
  delays_.of.back().uneven_share = 0.1;
  Add(4, 5, 0.8, 1);
  const std::vector<PairDelay> pairs = Judge();
  ASSERT_EQ(pairs.size(), 9u);
  EXPECT_EQ(pairs[4].samples, 2u);
  EXPECT_DOUBLE_EQ(pairs[4].x, 0.2);
  EXPECT_DOUBLE_EQ(pairs[4].error_2, 0.01);
  const double added = 0.001 * std::expm1(0.4);  // of the second one alone
  EXPECT_NEAR(pairs[4].added_seconds, added / 2, 1e-9);
  EXPECT_NEAR(pairs[4].added_busy, 1000 * added, 1e-9);
  EXPECT_DOUBLE_EQ(pairs[4].uneven, 0.1);
  EXPECT_DOUBLE_EQ(pairs[4].beyond_like, 0.2);
  EXPECT_EQ(pairs[5].transfer.plane, 1u);
  EXPECT_DOUBLE_EQ(pairs[5].x, 0.8);
}

TEST_F(PairDelaysTest, WhatANormalIsWorthCounts) {
  samples_[4].error_2 = 0.01;
  samples_[4].normal_error_2 = 0.02;
  EXPECT_DOUBLE_EQ(Judge()[4].error_2, 0.01);
  samples_[4].has_normal = true;
  EXPECT_DOUBLE_EQ(Judge()[4].error_2, 0.03);
}

TEST_F(PairDelaysTest, ASlowRowMakesItsPairsSlow) {
  samples_.clear();
  delays_.of.clear();
  for (uint32_t source = 0; source < 8; ++source) {
    for (uint32_t destination = 0; destination < 8; ++destination) {
      if (source != destination) Add(source, destination, source == 3 ? 0.5 : 0);
    }
  }
  for (ConnectionSample& sample : samples_) sample.error_2 = 1;  // none is sure alone
  for (const PairDelay& pair : Judge()) {
    EXPECT_EQ(pair.transfer.health,
              pair.transfer.source == RankId(3u) ? TransferHealth::kSlow : TransferHealth::kHealthy);
  }
}

TEST_F(PairDelaysTest, ASampleIsOfItsPair) {
  SetX(4, 0.3);
  const std::vector<PairDelay> pairs = Judge();
  EXPECT_TRUE(IsOfSlowPair(samples_[4], pairs));
  EXPECT_FALSE(IsOfSlowPair(samples_[3], pairs));
  ConnectionSample other = samples_[4];
  other.key.plane = 1;
  EXPECT_FALSE(IsOfSlowPair(other, pairs)) << "another plane";
  other = samples_[7];
  other.source = RankId(9u);
  EXPECT_FALSE(IsOfSlowPair(other, pairs)) << "behind all";
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d
