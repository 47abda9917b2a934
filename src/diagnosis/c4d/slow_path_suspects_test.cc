#include "diagnosis/c4d/slow_path_suspects.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "diagnosis/c4d/job_example.h"

namespace fairlead::diagnosis::c4d {
namespace {

using model::CulpritKind;
using model::RankId;

// Eight ranks that send to all others, under one leaf switch; all healthy at first. A connection needs z = 6, so that
// x / 0.0488 has to be 6: x = 0.293 = log 1.34.
class SlowPathSuspectsTest : public ::testing::Test {
 protected:
  SlowPathSuspectsTest() {
    for (uint32_t source = 0; source < 8; ++source) {
      for (uint32_t destination = 0; destination < 8; ++destination) {
        if (source == destination) continue;
        PairDelay& pair = pairs_.emplace_back();
        pair.transfer = {.source = RankId(source),
                         .destination = RankId(destination),
                         .plane = 0,
                         .health = TransferHealth::kHealthy};
      }
    }
  }

  PairDelay& PairOf(uint32_t source, uint32_t destination) {
    return pairs_[source * 7 + destination - (destination > source ? 1 : 0)];
  }
  void Slow(uint32_t source, uint32_t destination, double factor) {
    PairDelay& pair = PairOf(source, destination);
    pair.x = pair.beyond_like = std::log(factor);
    pair.added_busy = 2;
    pair.transfer.health = TransferHealth::kSlow;
  }
  // Half of its reports tell of stalls.
  void Stall(uint32_t source, uint32_t destination) {
    PairOf(source, destination).uneven = 0.5;
    PairOf(source, destination).transfer.health = TransferHealth::kSlow;
  }
  std::vector<Suspect> Find(bool has_late_rank = false) const {
    return suspects_.Find(
        {.pairs = pairs_, .sigma = SlowOptions().matrix.sigma_floor, .seconds = 10, .has_late_rank = has_late_rank});
  }
  static bool IsLoss(const Suspect& suspect) { return suspect.summary.find("lost") != std::string::npos; }

  const model::JobLayout layout_ = MakeExampleLayout({.hosts = 8, .gpus = 1, .hosts_per_leaf = 8});
  const SlowPathSuspects suspects_{layout_, {}, {}};
  std::vector<PairDelay> pairs_;
};

TEST_F(SlowPathSuspectsTest, ASlowConnectionAndWhatItCosts) {
  EXPECT_TRUE(Find().empty());
  Slow(2, 5, 1.3);
  EXPECT_TRUE(Find().empty()) << "z = 5.4";
  Slow(2, 5, 1.5);
  const std::vector<Suspect> suspects = Find();
  ASSERT_EQ(suspects.size(), 1u);
  EXPECT_EQ(suspects[0].culprits.front().kind, CulpritKind::kConnection);
  EXPECT_EQ(suspects[0].culprits.front().rank, RankId(2u));
  EXPECT_DOUBLE_EQ(suspects[0].cost, 0.2) << "2 of 10 s";
  EXPECT_FALSE(suspects[0].is_alone);
  const double z = std::log(1.5) / SlowOptions().matrix.sigma_floor;
  EXPECT_DOUBLE_EQ(suspects[0].confidence, z / (z + 1.5));
  EXPECT_NE(suspects[0].summary.find("takes 1.50 times as long"), std::string::npos) << suspects[0].summary;
}

TEST_F(SlowPathSuspectsTest, LessThanTwiceHasToExceedItsLike) {
  Slow(2, 5, 1.9);
  PairOf(2, 5).beyond_like = 0.1;  // of log 1.2 = 0.18
  EXPECT_TRUE(Find().empty());
  Slow(2, 5, 2.1);
  PairOf(2, 5).beyond_like = 0.1;
  EXPECT_EQ(Find().size(), 1u);
}

TEST_F(SlowPathSuspectsTest, WhatPassesASlowNicIsExplained) {
  for (uint32_t source = 0; source < 8; ++source) {
    if (source != 4) Slow(source, 4, 1.9);
  }
  Slow(4, 1, 1.6);
  Stall(4, 2);
  std::vector<Suspect> suspects = Find();
  ASSERT_EQ(suspects.size(), 1u);
  EXPECT_EQ(suspects[0].culprits.front().kind, CulpritKind::kNicReceive);
  Stall(3, 2);
  suspects = Find();
  ASSERT_EQ(suspects.size(), 2u) << "elsewhere";
  EXPECT_TRUE(IsLoss(suspects[1]));
  EXPECT_EQ(suspects[1].culprits.front().rank, RankId(3u));
}

TEST_F(SlowPathSuspectsTest, BesideALateRankOneHasToExceedTheChangeOfOthers) {
  Slow(2, 5, 1.5);
  for (const uint32_t destination : {3, 4, 6}) PairOf(7, destination).x = -0.1;
  EXPECT_EQ(Find(false).size(), 1u);
  // 0.405 / 0.1 is less than 6.
  EXPECT_TRUE(Find(true).empty());
}

// Beside the slow one, the other, at first slow by itself as well, has to exceed 6 * 0.08; what it loses remains.
TEST_F(SlowPathSuspectsTest, WhatIsNotSlowBesideAnotherMayStillBeLossy) {
  Slow(0, 1, 2.4);
  Slow(2, 3, 1.4);
  EXPECT_EQ(Find().size(), 2u);
  PairOf(6, 7).x = -0.08;
  EXPECT_EQ(Find().size(), 1u);
  Stall(2, 3);
  const std::vector<Suspect> suspects = Find();
  ASSERT_EQ(suspects.size(), 2u);
  EXPECT_TRUE(IsLoss(suspects[1]));
  EXPECT_EQ(suspects[1].cost, -1) << "not known";
  EXPECT_DOUBLE_EQ(suspects[1].confidence, 0.5);
  PairOf(6, 7).x = -0.1;  // more than half of log 1.2
  EXPECT_EQ(Find().size(), 1u) << "single messages may meet others, too";
}

TEST_F(SlowPathSuspectsTest, MoreThanFourAreNotUnderstood) {
  for (uint32_t rank = 0; rank < 8; rank += 2) Slow(rank, rank + 1, 2.5);
  EXPECT_EQ(Find().size(), 4u);
  Slow(1, 4, 2.5);
  EXPECT_TRUE(Find().empty());
}

TEST_F(SlowPathSuspectsTest, WhereNothingIsHealthyItIsAlone) {
  Slow(2, 5, 1.5);
  for (PairDelay& pair : pairs_) {
    if (pair.transfer.health == TransferHealth::kHealthy) pair.transfer.health = TransferHealth::kUnclear;
  }
  ASSERT_EQ(Find().size(), 1u);
  EXPECT_TRUE(Find()[0].is_alone);
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d
