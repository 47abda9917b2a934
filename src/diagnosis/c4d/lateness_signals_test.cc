#include "diagnosis/c4d/lateness_signals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace fairlead::diagnosis::c4d {
namespace {

using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;

// Ten outputs of each rank in ten seconds. A rank is late from 0.05 * 10 s = 0.5 s on, where others hardly differ.
StragglerWindow TenSeconds(const std::vector<double>& own_seconds, const std::vector<uint32_t>& stages) {
  StragglerWindow window;
  window.seconds = 10;
  window.stages = stages;
  for (const double seconds : own_seconds) {
    OwnTime::OfRank own;
    own.seconds = seconds;
    own.outputs = 10;
    own.reports = 10;
    window.own.push_back(own);
  }
  return window;
}

// Each rank normally has 0.1 s of own time and of an idle host thread for each output, and is waited for 1 s.
RankNormals NormalsOfFour() {
  RankNormals normals(4, 1);
  for (size_t rank = 0; rank < 4; ++rank) {
    normals.Learn(rank, {.own_per_output = 0.1, .idle_per_output = 0.1, .own_ratio = 0, .blame_share = 0.1});
  }
  return normals;
}

TEST(LatenessSignalsTest, OwnTimeBeyondThatOfTheStage) {
  const RankNormals unknown(4, 1);
  const OwnLateness own = JudgeOwnTime(TenSeconds({1, 1, 1, 2}, {0, 0, 0, 0}), unknown, {});
  EXPECT_THAT(own.ratio, ElementsAre(0, 0, 0, DoubleNear(1, 1e-9)));
  EXPECT_THAT(own.signal.excess, ElementsAre(0, 0, 0, DoubleNear(1, 1e-9)));
  EXPECT_THAT(own.signal.is_late, ElementsAre(false, false, false, true));
  EXPECT_THAT(JudgeOwnTime(TenSeconds({1, 1, 1, 1.4}, {0, 0, 0, 0}), unknown, {}).signal.is_late, Each(false));
}

TEST(LatenessSignalsTest, WhatARankNormallyHasBeyondItsStageIsNotExcess) {
  RankNormals normals(4, 1);
  normals.Learn(3, {.own_per_output = 0.15, .idle_per_output = 0, .own_ratio = 0.5});
  const OwnLateness own = JudgeOwnTime(TenSeconds({1, 1, 1, 1.8}, {0, 0, 0, 0}), normals, {});
  EXPECT_NEAR(own.signal.excess[3], 0.3, 1e-9);
}

TEST(LatenessSignalsTest, ARankWithoutItsLikeIsComparedWithItsPast) {
  const std::vector<uint32_t> stages = {0, 1, 2, 3};
  EXPECT_THAT(JudgeOwnTime(TenSeconds({1, 1, 2, 1}, stages), RankNormals(4, 1), {}).signal.is_known, Each(false));
  const OwnLateness own = JudgeOwnTime(TenSeconds({1, 1, 2, 1}, stages), NormalsOfFour(), {});
  EXPECT_THAT(own.signal.is_known, Each(true));
  EXPECT_THAT(own.signal.is_late, ElementsAre(false, false, true, false));
  EXPECT_NEAR(own.signal.excess[2], 1, 1e-9);
  const OwnLateness slower = JudgeOwnTime(TenSeconds({2, 2, 2, 2}, stages), NormalsOfFour(), {});
  EXPECT_THAT(slower.signal.excess, Each(DoubleNear(0, 1e-9))) << "all by one factor";
}

// Among themselves ranks 2 and 3 are alike.
TEST(LatenessSignalsTest, AllOfAStageAreLateIfTheirHostThreadsIdle) {
  StragglerWindow window = TenSeconds({1, 1, 2, 2}, {0, 0, 1, 1});
  for (OwnTime::OfRank& own : window.own) own.idle_seconds = 1;
  EXPECT_THAT(JudgeOwnTime(window, NormalsOfFour(), {}).signal.is_late, Each(false));
  for (const size_t rank : {2, 3}) window.own[rank].idle_seconds = 2;
  const OwnLateness own = JudgeOwnTime(window, NormalsOfFour(), {});
  EXPECT_THAT(own.idle_excess,
              ElementsAre(DoubleNear(0, 1e-9), DoubleNear(0, 1e-9), DoubleNear(1, 1e-9), DoubleNear(1, 1e-9)));
  EXPECT_THAT(own.signal.is_late, ElementsAre(false, false, true, true));
}

TEST(LatenessSignalsTest, OwnTimeBeforeEnqueueingIsTheHosts) {
  StragglerWindow window = TenSeconds({1, 1, 1, 2}, {0, 0, 0, 0});
  for (OwnTime::OfRank& own : window.own) own.host_seconds = 0.2;
  window.own[3].host_seconds = 0.9;
  EXPECT_NEAR(JudgeOwnTime(window, RankNormals(4, 1), {}).host_excess[3], 0.7, 1e-9);
}

TEST(LatenessSignalsTest, FewOutputsAndMissingReportsTellNothing) {
  StragglerWindow window = TenSeconds({1, 1, 2, 2}, {0, 0, 0, 0});
  window.own[2].outputs = 3;          // of 4
  window.own[3].reports_missing = 2;  // to 10 that came
  EXPECT_THAT(JudgeOwnTime(window, RankNormals(4, 1), {}).signal.is_known, ElementsAre(true, true, false, false));
}

TEST(LatenessSignalsTest, WaitsBeyondNormalOnes) {
  const WaitBlame::Blame blame{.seconds = {1, 1, 3, 3}, .is_known = {true, true, true, false}};
  const LatenessSignal signal = JudgeWaits(blame, NormalsOfFour(), &RankNormal::blame_share, 10, {});
  EXPECT_THAT(signal.excess, ElementsAre(0, 0, 2, 2));
  EXPECT_THAT(signal.is_late, ElementsAre(false, false, true, false)) << "of the last one nothing is known";
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d
