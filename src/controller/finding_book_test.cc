#include "controller/finding_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fairlead::controller {
namespace {

using model::Finding;
using model::FindingId;
using model::FindingState;
using testing::IsEmpty;
using testing::SizeIs;

Finding FindingAbout(FindingId id, uint32_t host, FindingState state = FindingState::kConfirmed) {
  Finding finding;
  finding.id = id;
  finding.job = JobId(7);
  finding.state = state;
  finding.culprits.emplace_back().host = HostId(host);
  finding.summary = "it hangs";
  return finding;
}

TEST(FindingBookTest, WhatHoldsStaysAndOfWhatIsOverTheLatest) {
  FindingBook book(2, 2);
  for (uint32_t i = 1; i <= 5; ++i) {
    const FindingId id = book.NextNumber();
    EXPECT_EQ(id, FindingId(i));
    EXPECT_TRUE(book.Keep("gpt", FindingAbout(id, i)));
  }
  for (uint32_t i = 1; i <= 4; ++i)
    EXPECT_FALSE(book.Keep("gpt", FindingAbout(FindingId(i), i, FindingState::kCleared)));
  EXPECT_EQ(book.Find(FindingId(2)), nullptr);
  ASSERT_NE(book.Find(FindingId(3)), nullptr);
  EXPECT_EQ(book.Find(FindingId(3))->finding.state, FindingState::kCleared);
  EXPECT_THAT(book.All(), SizeIs(3));
  EXPECT_EQ(book.JobName(JobId(7)), "gpt");
  EXPECT_EQ(book.JobName(JobId(8)), "");
}

TEST(FindingBookTest, NumbersContinueAfterThoseOfAnEarlierOne) {
  FindingBook book(2, 2);
  book.Restore(FindingId(9));
  book.Restore(FindingId(4));
  EXPECT_EQ(book.NextNumber(), FindingId(10));
}

TEST(FindingBookTest, HostsAreJudgedOnceForEachChange) {
  FindingBook book(2, 2);
  book.Keep("gpt", FindingAbout(FindingId(1), 3));
  book.Keep("gpt", FindingAbout(FindingId(2), 4, FindingState::kSuspect));
  auto judged = book.TakeJudged();
  ASSERT_THAT(judged, SizeIs(1));
  EXPECT_EQ(judged[0].first, HostId(3));
  ASSERT_THAT(judged[0].second.findings, SizeIs(1));
  EXPECT_EQ(judged[0].second.findings[0].job, "gpt");
  EXPECT_THAT(book.TakeJudged(), IsEmpty());
  book.Keep("gpt", FindingAbout(FindingId(1), 3));  // the same again
  EXPECT_THAT(book.TakeJudged(), IsEmpty());
  book.Keep("gpt", FindingAbout(FindingId(1), 3, FindingState::kCleared));
  judged = book.TakeJudged();
  ASSERT_THAT(judged, SizeIs(1));
  EXPECT_EQ(judged[0].second, HostJudged());
}

TEST(FindingBookTest, TheLatestProofsAreKept) {
  FindingBook book(2, 2);
  for (uint32_t i = 1; i <= 3; ++i) book.KeepProof(FindingId(i), {});
  EXPECT_EQ(book.FindProof(FindingId(1)), std::nullopt);
  EXPECT_NE(book.FindProof(FindingId(3)), std::nullopt);
}

}  // namespace
}  // namespace fairlead::controller
