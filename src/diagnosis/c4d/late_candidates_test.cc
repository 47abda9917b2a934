#include "diagnosis/c4d/late_candidates.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "diagnosis/c4d/job_example.h"

namespace fairlead::diagnosis::c4d {
namespace {

using model::CulpritKind;
using model::RankId;

// Six hosts of four GPUs; rank r is on host r / 4.
class LateCandidatesTest : public ::testing::Test {
 protected:
  LateCandidatesTest() {
    window_.seconds = 10;
    window_.stages.assign(24, 0);
    window_.own.resize(24);
    own_.idle_excess.assign(24, 0.0);
    own_.signal = SignalOf({});
  }

  // All known; 0 but for these.
  static LatenessSignal SignalOf(const std::map<uint32_t, double>& excess) {
    LatenessSignal signal{std::vector<double>(24, 0.0), std::vector<bool>(24, true), std::vector<bool>(24, false)};
    for (const auto& [rank, seconds] : excess) {
      signal.excess[rank] = seconds;
      signal.is_late[rank] = true;
    }
    return signal;
  }
  std::vector<LateCandidate> Find(const std::map<uint32_t, double>& excess) {
    own_.signal = SignalOf(excess);
    return FindLateCandidates(layout_, window_, own_, {});
  }

  const model::JobLayout layout_ = MakeExampleLayout({.hosts = 6, .gpus = 4});
  StragglerWindow window_;
  OwnLateness own_;
};

TEST_F(LateCandidatesTest, ARankOrItsHostIfMostOfItIsLate) {
  EXPECT_TRUE(Find({}).empty());
  std::vector<LateCandidate> found = Find({{5, 2.0}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].culprit.kind, CulpritKind::kRank);
  EXPECT_EQ(found[0].culprit.rank, RankId(5u));
  EXPECT_EQ(found[0].culprit.host, HostId(1));
  EXPECT_DOUBLE_EQ(found[0].share, 1);
  found = Find({{4, 2.0}, {5, 2.0}, {7, 2.0}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].culprit.kind, CulpritKind::kHost);
  EXPECT_EQ(found[0].ranks.size(), 4u) << "also the one that is not late";
  // 10 of 12 s are one rank's: more than 60 %.
  found = Find({{4, 1.0}, {5, 10.0}, {7, 1.0}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].culprit.rank, RankId(5u));
  EXPECT_DOUBLE_EQ(found[0].share, 10.0 / 12);
}

TEST_F(LateCandidatesTest, RanksWithIdleHostThreadsCountForTheirHost) {
  EXPECT_EQ(Find({{4, 2.0}, {5, 2.0}}).front().culprit.kind, CulpritKind::kRank) << "two of four are less than 60 %";
  own_.idle_excess[6] = 0.5;  // 5 % of the window
  const std::vector<LateCandidate> found = Find({{4, 2.0}, {5, 2.0}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].culprit.kind, CulpritKind::kHost);
}

TEST_F(LateCandidatesTest, ThreeAtMostTheWorstFirst) {
  // 4 + 3 of 10 s are more than 60 %.
  std::vector<LateCandidate> found = Find({{0, 3.0}, {5, 1.0}, {9, 4.0}, {13, 2.0}});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].culprit.rank, RankId(9u));
  EXPECT_EQ(found[1].culprit.rank, RankId(0u));
  // Three of six are half.
  EXPECT_TRUE(Find({{0, 1.0}, {5, 1.0}, {9, 1.0}, {13, 1.0}, {17, 1.0}, {21, 1.0}}).empty());
}

TEST_F(LateCandidatesTest, WhereFewOfAHostAreKnownNoneOfItIsNamed) {
  own_.signal = SignalOf({{5, 2.0}});
  for (const size_t rank : {4, 6}) own_.signal.is_known[rank] = false;
  EXPECT_TRUE(FindLateCandidates(layout_, window_, own_, {}).empty());
}

TEST_F(LateCandidatesTest, OthersAgreeBeyondTheMedianOfTheJobOrOfTheStage) {
  const std::vector<RankId> ranks = {RankId(5u)};
  EXPECT_TRUE(Agrees(SignalOf({{5, 0.6}}), ranks, window_, {}));
  EXPECT_FALSE(Agrees(SignalOf({{5, 0.4}}), ranks, window_, {})) << "less than 5 % of 10 s";
  LatenessSignal all = SignalOf({});
  for (double& excess : all.excess) excess = 2;
  EXPECT_FALSE(Agrees(all, ranks, window_, {}));
  // Ranks 4 to 7 are a stage of which only rank 5 is waited for.
  for (const size_t rank : {4, 5, 6, 7}) window_.stages[rank] = 1;
  for (const size_t rank : {4, 6, 7}) all.excess[rank] = 0;
  EXPECT_TRUE(Agrees(all, ranks, window_, {}));
  all.is_known[5] = false;
  EXPECT_FALSE(Agrees(all, ranks, window_, {}));
  EXPECT_FALSE(IsKnown(all, ranks));
}

TEST_F(LateCandidatesTest, OfTheRanksOfAHost) {
  LateCandidate candidate = Find({{4, 2.0}, {5, 2.0}, {6, 2.0}}).front();
  EXPECT_FALSE(IsMostOfStage(layout_, candidate, window_.stages)) << "4 of 24";
  for (uint32_t rank = 4; rank < 11; ++rank) window_.stages[rank] = 1;
  EXPECT_TRUE(IsMostOfStage(layout_, candidate, window_.stages)) << "4 of 7";
  EXPECT_TRUE(HasAllReports(window_, candidate.ranks));
  window_.own[7].reports_missing = 1;
  EXPECT_FALSE(HasAllReports(window_, candidate.ranks));
  own_.idle_excess[4] = 2.0;
  EXPECT_TRUE(HasIdleHost(own_, candidate.ranks, window_.seconds, {})) << "0.5 s on the mean";
  own_.idle_excess[4] = 1.9;
  EXPECT_FALSE(HasIdleHost(own_, candidate.ranks, window_.seconds, {}));
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d
