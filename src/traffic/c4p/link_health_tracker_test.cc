#include "traffic/c4p/link_health_tracker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "base/random.h"
#include "traffic/c4p/link_health_example.h"

namespace fairlead::traffic::c4p {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(LinkHealthTrackerTest, WalksTheWholeCircle) {
  Rounds rounds;
  EXPECT_EQ(rounds.Lose(10), LinkState::kUp);  // exactly 1 %, once
  const std::vector<LinkChange> suspected = rounds.Observe({Saw(kLink, 1000, 20)});
  ASSERT_EQ(suspected.size(), 1u);
  EXPECT_EQ(suspected[0].link, kLink);
  EXPECT_EQ(suspected[0].from, LinkState::kUp);
  EXPECT_EQ(suspected[0].to, LinkState::kSuspect);
  EXPECT_EQ(suspected[0].at, SimTime(2'000'000'000));
  EXPECT_EQ(suspected[0].reason, "2 bad of the last 3 rounds; now loss 2 % (20 of 1000 packets)");
  EXPECT_EQ(rounds.Lose(10), LinkState::kSuspect);  // rounds before the transition don't count again
  EXPECT_EQ(rounds.Lose(10), LinkState::kDown);
  EXPECT_EQ(rounds.Lose(10, 50), LinkState::kDown);
  EXPECT_EQ(rounds.Lose(0), LinkState::kProbation);
  EXPECT_EQ(rounds.Lose(0, 2), LinkState::kProbation);
  EXPECT_EQ(rounds.Lose(0), LinkState::kUp);
}

TEST(LinkHealthTrackerTest, TwoBadRoundsOfThreeAreEnoughAndTwoOfFourAreNot) {
  Rounds close;
  close.Lose(50);
  close.Lose(0);
  EXPECT_EQ(close.Lose(50), LinkState::kSuspect);
  Rounds apart;
  for (int i = 0; i < 20; ++i) {
    apart.Lose(50);
    EXPECT_EQ(apart.Lose(0, 2), LinkState::kUp);
  }
}

TEST(LinkHealthTrackerTest, DeadLinkIsDownInTwoRounds) {
  Rounds rounds;
  EXPECT_EQ(rounds.Lose(1000), LinkState::kSuspect);
  EXPECT_EQ(rounds.Lose(1000), LinkState::kDown);
}

TEST(LinkHealthTrackerTest, SuspectComesBackAfterThreeCleanRounds) {
  Rounds rounds;
  EXPECT_EQ(rounds.Lose(20, 2), LinkState::kSuspect);
  EXPECT_EQ(rounds.Lose(0, 2), LinkState::kSuspect);
  EXPECT_EQ(rounds.Lose(0), LinkState::kUp);
}

TEST(LinkHealthTrackerTest, BetweenCleanAndBadNothingMoves) {
  // 0.5 % <= 7 of 1000 < 1 %: neither bad nor clean.
  Rounds rounds;
  EXPECT_EQ(rounds.Lose(7, 30), LinkState::kUp);
  rounds.Lose(20, 2);
  EXPECT_EQ(rounds.Lose(7, 30), LinkState::kSuspect);
  rounds.Lose(0, 2);
  rounds.Lose(7);  // breaks the row
  EXPECT_EQ(rounds.Lose(0, 2), LinkState::kSuspect);
}

TEST(LinkHealthTrackerTest, OnePacketIsNoEvidence) {
  Rounds rounds;
  for (int i = 0; i < 10; ++i) rounds.Observe({Saw(kLink, 20, 1)});
  EXPECT_EQ(rounds.state(), LinkState::kUp);
  rounds.Observe({Saw(kLink, 1, 1)});  // unless it is all there was
  EXPECT_EQ(rounds.state(), LinkState::kSuspect);
  // Nor do nine packets prove a round clean: two rounds of nine are one, and three are needed.
  for (int i = 0; i < 5; ++i) rounds.Observe({Saw(kLink, 9, 0)});
  EXPECT_EQ(rounds.state(), LinkState::kSuspect);
}

TEST(LinkHealthTrackerTest, FailedProbationDoublesTheNextOne) {
  Rounds rounds;
  rounds.Lose(1000, 2);
  for (const uint32_t needed : {3u, 6u, 12u, 24u, 48u, 96u, 96u}) {
    EXPECT_EQ(rounds.Lose(0), LinkState::kProbation);
    EXPECT_EQ(rounds.tracker().CleanRoundsNeeded(kLink), needed);
    EXPECT_EQ(rounds.Lose(0, static_cast<int>(needed) - 1), LinkState::kProbation);
    EXPECT_EQ(rounds.Lose(20), LinkState::kDown);
  }
  rounds.Lose(0);
  EXPECT_EQ(rounds.Lose(0, 96), LinkState::kUp);
  // Forgiven after 100 clean rounds, not before.
  rounds.Lose(0, 99);
  EXPECT_EQ(rounds.tracker().CleanRoundsNeeded(kLink), 96u);
  rounds.Lose(0);
  EXPECT_EQ(rounds.tracker().CleanRoundsNeeded(kLink), 3u);
}

TEST(LinkHealthTrackerTest, SlowLinkIsJudgedByItsOwnPast) {
  Rounds rounds(2);
  for (int i = 0; i < 8; ++i) rounds.Observe({Saw(kLink, 100, 0, 20), Saw(LinkId(1), 100, 0, 40)});
  // 40 us is usual for link 1, and log 2 / log 1.05 = 14.2 for link 0.
  rounds.Observe({Saw(kLink, 100, 0, 40), Saw(LinkId(1), 100, 0, 40)});
  const std::vector<LinkChange> changes = rounds.Observe({Saw(kLink, 100, 0, 40), Saw(LinkId(1), 100, 0, 40)});
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].link, kLink);
  EXPECT_THAT(changes[0].reason, HasSubstr("RTT 40 us (z 14.2 against a median of 20 us)"));
  // 25 us is z 4.6.
  for (int i = 0; i < 3; ++i) rounds.Observe({Saw(kLink, 100, 0, 25)});
  EXPECT_EQ(rounds.state(), LinkState::kUp);
}

TEST(LinkHealthTrackerTest, ADelayWithinTheToleranceIsNoMatterHoweverUnusual) {
  LinkHealthOptions tolerant;
  tolerant.min_rtt_excess = Seconds(1e-3);
  Rounds rounds(1, tolerant);
  for (int i = 0; i < 8; ++i) rounds.Observe({Saw(kLink, 100, 0, 20)});
  // 50 times the median, 980 us more.
  for (int i = 0; i < 10; ++i) EXPECT_THAT(rounds.Observe({Saw(kLink, 100, 0, 1000)}), IsEmpty());
  Rounds other(1, tolerant);
  for (int i = 0; i < 8; ++i) other.Observe({Saw(kLink, 100, 0, 20)});
  other.Observe({Saw(kLink, 100, 0, 1030)});
  EXPECT_EQ(other.Observe({Saw(kLink, 100, 0, 1030)}).size(), 1u);
}

TEST(LinkHealthTrackerTest, ThinRoundsCountTogether) {
  Rounds rounds;
  rounds.Lose(1000, 2);
  ASSERT_EQ(rounds.state(), LinkState::kDown);
  // 10 packets are a clean round: 4 + 4 + 4. One opens the probation, three end it.
  for (int i = 0; i < 2; ++i) EXPECT_THAT(rounds.Observe({Saw(kLink, 4, 0)}), IsEmpty());
  EXPECT_EQ(rounds.Observe({Saw(kLink, 4, 0)}).size(), 1u);
  EXPECT_EQ(rounds.state(), LinkState::kProbation);
  const uint32_t needed = rounds.tracker().CleanRoundsNeeded(kLink);
  for (uint32_t i = 0; i < 3 * needed - 1; ++i) EXPECT_THAT(rounds.Observe({Saw(kLink, 4, 0)}), IsEmpty());
  rounds.Observe({Saw(kLink, 4, 0)});
  EXPECT_EQ(rounds.state(), LinkState::kUp);
  // A loss that is neither bad nor clean restarts the count.
  rounds.Lose(1000, 2);
  for (int i = 0; i < 20; ++i) {
    rounds.Observe({Saw(kLink, 4, 0)});
    rounds.Observe({Saw(kLink, 150, 1)});
  }
  EXPECT_EQ(rounds.state(), LinkState::kDown);
}

TEST(LinkHealthTrackerTest, LoadedFabricIsNoFaultOfItsLinks) {
  Rounds rounds(8);
  const auto observe = [&](size_t num_slow) {
    std::vector<LinkObservation> seen;
    for (uint32_t l = 0; l < 8; ++l) seen.push_back(Saw(LinkId(l), 100, 0, l < num_slow ? 100 : 20));
    return rounds.Observe(seen);
  };
  for (int i = 0; i < 8; ++i) observe(0);
  // Three of eight links are more than a quarter, two are not.
  for (int i = 0; i < 10; ++i) EXPECT_THAT(observe(3), IsEmpty());
  EXPECT_EQ(rounds.tracker().num_slow_rounds(), 10u);
  observe(2);
  EXPECT_EQ(observe(2).size(), 2u);
  // A loaded round hides no losses.
  std::vector<LinkObservation> lossy;
  for (uint32_t l = 0; l < 8; ++l) lossy.push_back(Saw(LinkId(l), 100, l == 7 ? 100 : 0, 100));
  EXPECT_EQ(rounds.Observe(lossy).size(), 1u);
  EXPECT_EQ(rounds.state(LinkId(7)), LinkState::kSuspect);
}

TEST(LinkHealthTrackerTest, ADirectReportOverrides) {
  Rounds rounds;
  std::vector<LinkChange> changes = rounds.tracker().ReportDown(rounds.NextSecond(), kLink, "switch leaf4").value();
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].to, LinkState::kDown);
  EXPECT_EQ(changes[0].reason, "reported down by switch leaf4");
  EXPECT_THAT(rounds.tracker().ReportDown(rounds.NextSecond(), kLink, "x").value(), IsEmpty());
  EXPECT_EQ(rounds.Lose(0, 50), LinkState::kDown);  // whatever probes say
  changes = rounds.tracker().ReportUp(rounds.NextSecond(), kLink, "operator").value();
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].to, LinkState::kProbation);
  EXPECT_EQ(rounds.Lose(0, 2), LinkState::kProbation);
  EXPECT_EQ(rounds.Lose(0), LinkState::kUp);
  EXPECT_THAT(rounds.tracker().ReportUp(rounds.NextSecond(), kLink, "operator").value(), IsEmpty());
  // A report that a link is up does not acquit a suspect.
  rounds.Lose(20, 2);
  EXPECT_THAT(rounds.tracker().ReportUp(rounds.NextSecond(), kLink, "operator").value(), IsEmpty());
  EXPECT_EQ(rounds.state(), LinkState::kSuspect);
}

TEST(LinkHealthTrackerTest, AReportOfUpForgetsThePastRtts) {
  Rounds rounds;
  for (int i = 0; i < 8; ++i) rounds.Observe({Saw(kLink, 100, 0, 20)});
  for (int i = 0; i < 30; ++i) rounds.Observe({Saw(kLink, 100, 0, 40)});  // a longer cable
  EXPECT_EQ(rounds.state(), LinkState::kDown);
  ASSERT_TRUE(rounds.tracker().ReportUp(rounds.NextSecond(), kLink, "operator").ok());
  for (int i = 0; i < 30; ++i) rounds.Observe({Saw(kLink, 100, 0, 40)});
  EXPECT_EQ(rounds.state(), LinkState::kUp);
}

TEST(LinkHealthTrackerTest, WhatMayCarryPaths) {
  EXPECT_EQ(UseOf(LinkState::kUp), LinkUse::kFirstChoice);
  EXPECT_EQ(UseOf(LinkState::kSuspect), LinkUse::kLastResort);
  EXPECT_EQ(UseOf(LinkState::kProbation), LinkUse::kLastResort);
  EXPECT_EQ(UseOf(LinkState::kDown), LinkUse::kNever);
  EXPECT_TRUE(IsUsable(LinkState::kSuspect));
  EXPECT_FALSE(IsUsable(LinkState::kDown));
}

TEST(LinkHealthTrackerTest, NonsenseChangesNothing) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  Rounds rounds(2);
  EXPECT_THAT(rounds.Observe({}), IsEmpty());
  rounds.Lose(1000, 1);
  EXPECT_THAT(rounds.Observe({Saw(LinkId(2), 10, 10), Saw(LinkId(), 10, 10), Saw(LinkId(1), 10, 11)}), IsEmpty());
  EXPECT_EQ(rounds.tracker().num_ignored_observations(), 3u);
  EXPECT_THAT(rounds.Observe({Saw(kLink, 0, 0)}), IsEmpty());  // no news: the streak of one dead round holds
  for (const double rtt : {kNan, -1.0, 0.0, std::numeric_limits<double>::infinity()}) {
    for (int i = 0; i < 20; ++i) EXPECT_THAT(rounds.Observe({Saw(LinkId(1), 100, 0, rtt)}), IsEmpty());
  }

  LinkHealthTracker& tracker = rounds.tracker();
  const Result<std::vector<LinkChange>> late = tracker.ObserveRound(SimTime(1), std::vector{Saw(kLink, 10, 10)});
  ASSERT_FALSE(late.ok());
  EXPECT_THAT(late.status().message(), AllOf(HasSubstr("time went back"), HasSubstr("to 1 ns")));
  EXPECT_EQ(rounds.state(), LinkState::kSuspect);
  EXPECT_FALSE(tracker.ReportDown(SimTime(1), kLink, "x").ok());
  EXPECT_EQ(rounds.state(), LinkState::kSuspect);
  EXPECT_THAT(tracker.ReportUp(rounds.NextSecond(), LinkId(2), "x").status().message(), HasSubstr("has 2 links"));
}

TEST(LinkHealthTrackerTest, OptionsNameTheirRange) {
  EXPECT_TRUE(LinkHealthOptions().Validate().ok());
  EXPECT_THAT(LinkHealthOptions{.bad_loss = std::nan("")}.Validate().message(), HasSubstr("bad_loss: expected"));
  EXPECT_THAT(LinkHealthOptions{.clean_loss = 0.02}.Validate().message(), HasSubstr("clean_loss: expected"));
  EXPECT_THAT(LinkHealthOptions{.bad_rounds = 4}.Validate().message(), HasSubstr("bad_rounds: expected"));
  EXPECT_THAT(LinkHealthOptions{.window_rounds = 33}.Validate().message(), HasSubstr("found 33"));
}

TEST(LinkHealthTrackerTest, OrderOfObservationsIsNoMatter) {
  constexpr uint32_t kNumLinks = 6;
  Random random(31);
  Rounds forward(kNumLinks);
  Rounds shuffled(kNumLinks);
  for (int round = 0; round < 300; ++round) {
    std::vector<LinkObservation> seen;
    for (uint64_t n = random.Below(12); n > 0; --n) {
      const uint64_t lost = random.Below(4) == 0 ? random.Below(50) : 0;
      seen.push_back(Saw(LinkId(random.Below(kNumLinks)), 50, lost, random.Uniform(10, 20)));
    }
    const std::vector<LinkChange> expected = forward.Observe(seen);
    random.Shuffle(std::span(seen));
    const std::vector<LinkChange> found = shuffled.Observe(seen);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].reason, expected[i].reason);
      EXPECT_EQ(found[i].link, expected[i].link);
      EXPECT_TRUE(i == 0 || found[i - 1].link < found[i].link);
    }
  }
}

}  // namespace
}  // namespace fairlead::traffic::c4p
