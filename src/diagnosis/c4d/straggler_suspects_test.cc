#include "diagnosis/c4d/straggler_suspects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnosis/c4d/job_example.h"

namespace fairlead::diagnosis::c4d {
namespace {

using model::SubCause;

class StragglerSuspectsTest : public ::testing::Test {
 protected:
  // Rank 5, for 40 % of the time, all of which the job would gain.
  static SlowRank Rank5() {
    SlowRank slow;
    slow.host = HostId(1);
    slow.rank = model::RankId(5u);
    slow.ranks = {slow.rank};
    slow.share = slow.cost = slow.growth = 0.4;
    return slow;
  }

  const model::JobLayout layout_ = MakeExampleLayout({.hosts = 2, .gpus = 4});
  const StragglerSuspects suspects_{layout_, {}};
};

TEST_F(StragglerSuspectsTest, TheCauseFollowsFromWhatWasSeen) {
  SlowRank slow = Rank5();
  EXPECT_EQ(suspects_.ByOwnTime(slow, false, 1).sub_cause, SubCause::kGpu);
  EXPECT_EQ(suspects_.ByOwnTime(slow, true, 1).sub_cause, SubCause::kThrottled);
  EXPECT_EQ(suspects_.ByArrivals(slow, false, 1).sub_cause, SubCause::kUnknown);
  EXPECT_EQ(suspects_.ByArrivals(slow, true, 1).sub_cause, SubCause::kThrottled);
  slow.host_share = 0.5;
  EXPECT_EQ(suspects_.ByOwnTime(slow, false, 1).sub_cause, SubCause::kHostThread);
  slow.host_share = 0;
  slow.rank = {};
  const Suspect host = suspects_.ByOwnTime(slow, false, 1);
  EXPECT_EQ(host.sub_cause, SubCause::kGpu);
  EXPECT_EQ(host.summary, "host 1 makes the others wait for 40 % of the time: its GPUs take longer");
  EXPECT_EQ(host.culprits.front().kind, model::CulpritKind::kHost);
  EXPECT_EQ(host.culprits.front().host, HostId(1));
}

TEST_F(StragglerSuspectsTest, AStageMayHaveMoreToDo) {
  const Suspect suspect = suspects_.ByStage(Rank5(), false);
  EXPECT_DOUBLE_EQ(suspect.confidence, 0.4);
  EXPECT_FALSE(suspect.is_confirmed);
  EXPECT_LT(suspect.cost, 0) << "not known";
  EXPECT_THAT(suspect.summary, testing::HasSubstr("its GPU takes longer, or its stage has more to do"));
  EXPECT_EQ(suspects_.ByStage(Rank5(), true).sub_cause, SubCause::kThrottled);
}

TEST_F(StragglerSuspectsTest, ConfidenceRisesWithTheEvidence) {
  SlowRank slow = Rank5();
  EXPECT_DOUBLE_EQ(suspects_.ByOwnTime(slow, false, 1).confidence, 0.8);
  EXPECT_TRUE(suspects_.ByOwnTime(slow, false, 1).is_confirmed);
  slow.sureness = 2;
  EXPECT_DOUBLE_EQ(suspects_.ByOwnTime(slow, false, 1).confidence, 0.9);
  slow.sureness = 40;
  EXPECT_DOUBLE_EQ(suspects_.ByOwnTime(slow, false, 1).confidence, 0.95);
  EXPECT_DOUBLE_EQ(suspects_.ByArrivals(slow, false, 1).confidence, 0.85);
}

TEST_F(StragglerSuspectsTest, WhatTheJobGainsLittleWithoutIsDoubtful) {
  SlowRank slow = Rank5();
  slow.growth = 0.07;  // less than 20 % of 40 %
  EXPECT_DOUBLE_EQ(suspects_.ByOwnTime(slow, false, 1).confidence, 0.4);
  slow.growth = 0;  // not known
  EXPECT_DOUBLE_EQ(suspects_.ByOwnTime(slow, false, 1).confidence, 0.8);
  slow.cost = 0.07;
  EXPECT_DOUBLE_EQ(suspects_.ByOwnTime(slow, false, 1).confidence, 0.4);
  EXPECT_DOUBLE_EQ(suspects_.ByArrivals(slow, false, 1).confidence, 0.4);
}

// Where collectives run beside compute, the others fill their waits.
TEST_F(StragglerSuspectsTest, ARankCostsNoMoreThanIterationsTakeLonger) {
  SlowRank slow = Rank5();
  slow.growth = 0.25;  // a fifth of what they take now
  const Suspect suspect = suspects_.ByOwnTime(slow, false, 1);
  EXPECT_DOUBLE_EQ(suspect.cost, 0.2);
  EXPECT_NE(suspect.summary.find("wait for 40 % of the time"), std::string::npos) << suspect.summary;
  slow.growth = 3;
  EXPECT_DOUBLE_EQ(suspects_.ByOwnTime(slow, false, 1).cost, slow.share);
  slow.growth = -0.1;
  EXPECT_DOUBLE_EQ(suspects_.ByOwnTime(slow, false, 1).cost, 0);
}

TEST_F(StragglerSuspectsTest, WhatARankCostsThatWasNeverFasterIsNotKnown) {
  SlowRank slow = Rank5();
  slow.growth = 0;
  EXPECT_LT(suspects_.ByOwnTime(slow, false, 1).cost, 0);
  EXPECT_DOUBLE_EQ(suspects_.ByOwnTime(slow, false, 1).confidence, 0.8);
  slow.share = 0.2;
  EXPECT_DOUBLE_EQ(suspects_.ByOwnTime(slow, false, 1).confidence, 0.4);
}

// Rank 5 takes 40 % of the time longer.
TEST_F(StragglerSuspectsTest, WhoReceivesMoreMayTakeLonger) {
  SlowRank slow = Rank5();
  const Suspect hot = suspects_.ByOwnTime(slow, false, 1.5);
  EXPECT_DOUBLE_EQ(hot.confidence, 0.4);
  EXPECT_EQ(hot.sub_cause, SubCause::kUnknown);
  EXPECT_NE(hot.summary.find("it receives 1.5 times as much as they in exchanges of all with all"), std::string::npos);
  EXPECT_DOUBLE_EQ(suspects_.ByArrivals(slow, false, 1.5).confidence, 0.4);
  // A little more does not explain that much.
  EXPECT_DOUBLE_EQ(suspects_.ByOwnTime(slow, false, 1.3).confidence, 0.8);
  EXPECT_EQ(suspects_.ByOwnTime(slow, false, 1.3).sub_cause, SubCause::kGpu);
  // Clocks that are down are a fault whatever it has to do.
  EXPECT_EQ(suspects_.ByOwnTime(slow, true, 1.5).sub_cause, SubCause::kThrottled);
  EXPECT_DOUBLE_EQ(suspects_.ByOwnTime(slow, true, 1.5).confidence, 0.8);
}

TEST_F(StragglerSuspectsTest, AWindowIsAsSureAsSignalsAgree) {
  StragglerFigures figures;
  figures.culprit.rank = model::RankId(5u);
  figures.culprit.host = HostId(1);
  figures.sub_cause = SubCause::kGpu;
  figures.own_share = 0.8;
  figures.own_percent = 40;
  EXPECT_DOUBLE_EQ(suspects_.ByWindow(figures).confidence, 0.8 * 0.5);
  figures.num_agreeing = 1;
  EXPECT_DOUBLE_EQ(suspects_.ByWindow(figures).confidence, 0.8 * 0.8);
  figures.num_agreeing = 2;
  const Suspect suspect = suspects_.ByWindow(figures);
  EXPECT_DOUBLE_EQ(suspect.confidence, 0.8 * 0.95);
  EXPECT_FALSE(suspect.is_confirmed);
  EXPECT_EQ(suspect.summary, "rank 5 (host 1, GPU 1) makes the others wait for 40 % of the time: its GPU takes longer");
  EXPECT_EQ(suspects_.ByOwnTime(Rank5(), false, 1).summary, suspect.summary);
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d
