#include "diagnosis/c4d/window_verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "diagnosis/c4d/job_example.h"

namespace fairlead::diagnosis::c4d {
namespace {

using model::RankId;
using model::SubCause;
using testing::Each;
using testing::IsEmpty;

// Windows of ten seconds of four hosts with two GPUs, in which all do the same.
class WindowVerdictTest : public ::testing::Test {
 protected:
  using Seconds8 = std::map<uint32_t, double>;  // of ranks that differ

  // Args: own: beyond 1 s; waits: for a rank, by both clocks.
  static StragglerWindow WindowOf(const Seconds8& own, const Seconds8& waits) {
    StragglerWindow window;
    window.seconds = 10;
    window.stages.assign(8, 0);
    OwnTime::OfRank usual;
    usual.seconds = 1;
    usual.outputs = usual.reports = 10;
    window.own.assign(8, usual);
    for (const auto& [rank, seconds] : own) window.own[rank].seconds += seconds;
    window.blame = {.seconds = std::vector<double>(8, 0.0), .is_known = std::vector<bool>(8, true)};
    for (const auto& [rank, seconds] : waits) window.blame.seconds[rank] = seconds;
    window.lag = window.blame;
    return window;
  }
  std::vector<double> Judge(const StragglerWindow& window, std::span<const SlowRank> slow = {}) {
    return verdict_.Judge(window, slow, throttled_);
  }

  const model::JobLayout layout_ = MakeExampleLayout({.hosts = 4, .gpus = 2});
  ThrottledGpus throttled_{layout_};
  WindowVerdict verdict_{layout_, {}};
};

TEST_F(WindowVerdictTest, ALateRankIsNamedIfOthersWaitedForIt) {
  const std::vector<double> lateness = Judge(WindowOf({{3, 2.0}}, {{3, 1.5}}));
  EXPECT_DOUBLE_EQ(lateness[3], 2);
  EXPECT_EQ(lateness[2], 0);
  const std::vector<StragglerFigures> suspects = verdict_.TakeSuspects(false);
  ASSERT_EQ(suspects.size(), 1u);
  EXPECT_EQ(suspects[0].culprit.rank, RankId(3u));
  EXPECT_EQ(suspects[0].num_agreeing, 2u);
  EXPECT_EQ(suspects[0].sub_cause, SubCause::kGpu);
  EXPECT_DOUBLE_EQ(suspects[0].own_percent, 20);
  EXPECT_DOUBLE_EQ(suspects[0].blame_percent, 15);
  EXPECT_THAT(verdict_.TakeSuspects(false), IsEmpty()) << "it has been taken";
  EXPECT_THAT(Judge(WindowOf({{3, 2.0}}, {})), Each(0));
  EXPECT_THAT(verdict_.TakeSuspects(false), IsEmpty()) << "nobody waited";
}

TEST_F(WindowVerdictTest, WithoutWaitsOwnTimeIsEnoughIfNothingIsMissing) {
  StragglerWindow window = WindowOf({{3, 2.0}}, {});
  window.blame.is_known.assign(8, false);
  window.lag = window.blame;
  EXPECT_THAT(Judge(window), Each(0)) << "nobody was seen to wait";
  const std::vector<StragglerFigures> suspects = verdict_.TakeSuspects(false);
  ASSERT_EQ(suspects.size(), 1u);
  EXPECT_EQ(suspects[0].num_agreeing, 0u);
  window.own[3].reports_missing = 1;
  Judge(window);
  EXPECT_THAT(verdict_.TakeSuspects(false), IsEmpty());
}

TEST_F(WindowVerdictTest, ReportedClocksAndHostThreadsAreTheCause) {
  StragglerWindow window = WindowOf({{3, 2.0}}, {{3, 1.5}});
  window.own[3].host_seconds = 1;
  Judge(window);
  EXPECT_EQ(verdict_.TakeSuspects(false).front().sub_cause, SubCause::kHostThread);
  model::HostReport report;
  report.host = HostId(1);
  report.symptoms.push_back({.symptom = model::HostSymptom::kGpuThrottled, .device = 1, .text = ""});
  throttled_.Add(report);
  Judge(window);
  EXPECT_EQ(verdict_.TakeSuspects(false).front().sub_cause, SubCause::kThrottled);
}

// Rank 3 is waited for in each window. Where that has been learned, it is normal; a slow path forbids to learn.
TEST_F(WindowVerdictTest, HealthyWindowsTellWhatIsNormal) {
  for (const bool has_slow_path : {false, true}) {
    WindowVerdict verdict(layout_, {});
    for (int window = 0; window < 2; ++window) {
      verdict.Judge(WindowOf({}, {{3, 1.5}}), {}, throttled_);
      EXPECT_THAT(verdict.TakeSuspects(has_slow_path), IsEmpty());
    }
    verdict.Judge(WindowOf({{3, 2.0}}, {{3, 1.5}}), {}, throttled_);
    EXPECT_EQ(verdict.TakeSuspects(false).size(), has_slow_path ? 1u : 0u);
  }
}

TEST_F(WindowVerdictTest, WithASlowPathNoneIsNamed) {
  EXPECT_DOUBLE_EQ(Judge(WindowOf({{3, 2.0}}, {{3, 1.5}}))[3], 2) << "it may explain what the path shows";
  EXPECT_THAT(verdict_.TakeSuspects(true), IsEmpty());
}

TEST_F(WindowVerdictTest, WhoIsSlowByBlocksIsWaitedForUnlessItIsSeenNotToBe) {
  SlowRank slow;
  slow.host = HostId(1);
  slow.rank = RankId(3u);
  slow.ranks = {slow.rank};
  const model::Culprit culprit = CulpritOf(layout_, slow);
  EXPECT_TRUE(verdict_.IsWaitedFor(culprit)) << "nothing was seen";
  Judge(WindowOf({}, {{3, 1.5}}), std::span(&slow, 1));
  EXPECT_TRUE(verdict_.IsWaitedFor(culprit));
  Judge(WindowOf({}, {}), std::span(&slow, 1));
  EXPECT_FALSE(verdict_.IsWaitedFor(culprit));
  Judge({}, std::span(&slow, 1));
  EXPECT_FALSE(verdict_.IsWaitedFor(culprit)) << "an empty window tells nothing new";
  StragglerWindow unknown = WindowOf({}, {});
  unknown.blame.is_known.assign(8, false);
  unknown.lag = unknown.blame;
  Judge(unknown, std::span(&slow, 1));
  EXPECT_TRUE(verdict_.IsWaitedFor(culprit));
}

// Both replicas of a stage: they do not wait for each other, and other stages wait in receives.
TEST_F(WindowVerdictTest, RanksThatAreSlowWithTheirWholeStageMayBeWaitedFor) {
  std::vector<SlowRank> slow(2);
  for (const uint32_t rank : {2U, 3U}) {
    slow[rank - 2].host = HostId(1);
    slow[rank - 2].rank = RankId(rank);
    slow[rank - 2].ranks = {RankId(rank)};
  }
  StragglerWindow window = WindowOf({{2, 2.0}, {3, 2.0}}, {});
  window.stages = {0, 0, 1, 1, 2, 2, 3, 3};
  Judge(window, slow);
  for (const SlowRank& each : slow) EXPECT_TRUE(verdict_.IsWaitedFor(CulpritOf(layout_, each)));
  Judge(window, std::span(slow).first(1));
  EXPECT_FALSE(verdict_.IsWaitedFor(CulpritOf(layout_, slow[0])));
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d
