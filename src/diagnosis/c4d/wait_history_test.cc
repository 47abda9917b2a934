#include "diagnosis/c4d/wait_history.h"

#include <gtest/gtest.h>

namespace fairlead::diagnosis::c4d {
namespace {

constexpr int64_t kMinute = 60;
constexpr int64_t kHour = 3600;

SimDuration SecondsOfWait(int64_t s) { return SimDuration(s * 1'000'000'000); }

class WaitHistoryTest : public ::testing::Test {
 protected:
  // Each second something moves that was waited for half a second.
  void Work(int64_t seconds) {
    for (int64_t s = 0; s < seconds; ++s) Wait(1, SimDuration(500'000'000));
  }
  void Wait(int64_t seconds, SimDuration wait) {
    now_ = now_ + SecondsOfWait(seconds);
    history_.Add(now_, wait);
  }

  SimTime now_;
  WaitHistory history_;
};

TEST_F(WaitHistoryTest, NothingIsKnownWithinAMinute) {
  EXPECT_FALSE(history_.Longest());
  Work(60);
  EXPECT_FALSE(history_.Longest()) << "59 s since the first";
  Work(1);
  EXPECT_EQ(history_.Longest(), SimDuration(500'000'000));
}

// Each time counts 3 s: a minute at work takes twenty times.
TEST_F(WaitHistoryTest, OneThatIsUsedNowAndThenTakesLongToKnow) {
  for (int i = 0; i <= 19; ++i) Wait(14, SimDuration(0));
  EXPECT_FALSE(history_.Longest()) << "19 gaps of 3 s";
  Wait(14, SimDuration(0));
  EXPECT_EQ(history_.Longest(), SimDuration(0));
}

TEST_F(WaitHistoryTest, TheLongestCounts) {
  Work(70);
  Wait(12, SecondsOfWait(12));
  Work(10);
  EXPECT_EQ(history_.Longest(), SecondsOfWait(12));
}

// 30 s of compilation at the start are known as long as the first five minutes last; after them it begins anew.
TEST_F(WaitHistoryTest, TheFirstMinutesAreForgotten) {
  Wait(30, SecondsOfWait(30));
  Work(4 * kMinute + 59);
  EXPECT_EQ(history_.Longest(), SecondsOfWait(30));
  Work(1);
  EXPECT_FALSE(history_.Longest());
  Work(kMinute);
  EXPECT_EQ(history_.Longest(), SimDuration(500'000'000));
}

// A wait of hour 1 is known at hour 12, in the part that began after five minutes, and for 12 hours more.
TEST_F(WaitHistoryTest, AWaitIsKnownForHalfADay) {
  Work(kHour);
  Wait(15, SecondsOfWait(15));
  Work(12 * kHour);
  EXPECT_EQ(history_.Longest(), SecondsOfWait(15));
  Work(11 * kHour);
  EXPECT_EQ(history_.Longest(), SecondsOfWait(15));
  Work(2 * kHour);
  EXPECT_EQ(history_.Longest(), SimDuration(500'000'000));
}

// Reports of one rank come behind those of another: their waits count, their times do not.
TEST_F(WaitHistoryTest, LateReportsMakeNoTime) {
  Work(30);
  const SimTime end = now_;
  for (int i = 0; i < 1000; ++i) history_.Add(end - SecondsOfWait(i % 20), SimDuration(0));
  EXPECT_FALSE(history_.Longest());
  now_ = end;
  Work(31);
  EXPECT_TRUE(history_.Longest());
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d
