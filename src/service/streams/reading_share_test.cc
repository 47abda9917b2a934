#include "service/streams/reading_share.h"

#include <gtest/gtest.h>

#include <tuple>

#include "base/random.h"

namespace fairlead::service {
namespace {

using std::chrono::milliseconds;

constexpr ReadingShare::Clock::time_point kStart{std::chrono::hours(1)};

TEST(ReadingShareTest, UntakenMessagesAndBytesAreLimited) {
  const ReadingLimits limits{.num_unread_max = 4, .unread_bytes_max = 1000};
  ReadingShare share(limits, kStart);
  EXPECT_TRUE(share.MayRead());
  EXPECT_FALSE(share.NoteRead(3, 10, kStart));
  EXPECT_TRUE(share.MayRead());
  EXPECT_FALSE(share.NoteRead(3, 10, kStart)) << "a batch comes as a whole";
  EXPECT_FALSE(share.MayRead());
  share.NoteTaken();
  share.NoteTaken();
  EXPECT_FALSE(share.MayRead());
  share.NoteTaken();
  EXPECT_TRUE(share.MayRead());
  EXPECT_FALSE(share.NoteRead(1, 990, kStart));
  EXPECT_FALSE(share.MayRead()) << "the bytes of a batch count until all of it is taken";
  for (int i = 0; i < 3; ++i) share.NoteTaken();
  EXPECT_TRUE(share.MayRead());
}

TEST(ReadingShareTest, NobodyTakesABatchWithoutMessages) {
  const ReadingLimits limits{.num_unread_max = 2, .unread_bytes_max = 100};
  ReadingShare share(limits, kStart);
  EXPECT_FALSE(share.NoteRead(0, 100, kStart));
  EXPECT_TRUE(share.MayRead());
  EXPECT_FALSE(share.NoteRead(2, 10, kStart));
  EXPECT_FALSE(share.MayRead());
  share.NoteTaken();
  EXPECT_TRUE(share.MayRead());
}

TEST(ReadingShareTest, WhatIsBeyondTheShareIsPaidForByWaiting) {
  const ReadingLimits limits{.messages_per_s = 100, .bytes_per_s = 1000, .burst_s = 2};
  ReadingShare share(limits, kStart);
  EXPECT_FALSE(share.NoteRead(1, 2000, kStart)) << "its burst";
  share.NoteTaken();
  EXPECT_TRUE(share.NoteRead(50, 10, kStart));
  for (int i = 0; i < 50; ++i) share.NoteTaken();
  EXPECT_FALSE(share.MayRead());
  EXPECT_FALSE(share.Resume(kStart + milliseconds(499)));
  EXPECT_FALSE(share.MayRead());
  EXPECT_TRUE(share.Resume(kStart + milliseconds(500)));
  EXPECT_TRUE(share.MayRead());
  // What is not used is kept for one burst.
  const auto later = kStart + std::chrono::hours(1);
  EXPECT_FALSE(share.NoteRead(200, 10, later));
  EXPECT_TRUE(share.NoteRead(1, 10, later));
}

// Whatever is sent, what is read stays within burst, rate, and the batch that went beyond.
TEST(ReadingShareTest, InTheLongRunNobodyGetsMoreThanTheRate) {
  const ReadingLimits limits{.num_unread_max = 1000, .messages_per_s = 100, .bytes_per_s = 1e6, .burst_s = 1};
  Random random(1);
  for (int round = 0; round < 20; ++round) {
    ReadingShare share(limits, kStart);
    size_t num_read = 0;
    for (int ms = 0; ms < 20'000; ++ms) {
      const auto now = kStart + milliseconds(ms);
      if (share.Resume(now) && share.MayRead() && random.Below(3) == 0) {
        const size_t num_messages = 1 + random.Below(64);
        std::ignore = share.NoteRead(num_messages, 100, now);
        for (size_t i = 0; i < num_messages; ++i) share.NoteTaken();
        num_read += num_messages;
      }
      ASSERT_LE(num_read, 100 + 0.1 * ms + 64);
    }
    EXPECT_GE(num_read, 0.9 * 100 * 20);
  }
}

}  // namespace
}  // namespace fairlead::service
