#include "traffic/time_shift.h"

#include <gtest/gtest.h>

namespace fairlead::traffic {
namespace {

SimDuration Ms(int64_t ms) { return SimDuration(ms * 1'000'000); }
SimTime At(int64_t ms) { return SimTime() + Ms(ms); }

// Instants 30, 130, 230 ms, …; tolerance 5 ms.
TimeShift Shift(ShiftUpkeep upkeep) { return {Ms(100), Ms(30), Ms(5), upkeep}; }

constexpr ShiftProgress kNew;
constexpr ShiftProgress kFresh = {.is_aligned = true, .iterations = 1};
constexpr ShiftProgress kOld = {.is_aligned = true, .iterations = TimeShift::kIterationsBetweenWaits};

TEST(TimeShiftTest, TheFirstIterationWaitsForTheNextInstant) {
  for (const ShiftUpkeep upkeep : {ShiftUpkeep::kEverySlot, ShiftUpkeep::kDrift, ShiftUpkeep::kNever}) {
    EXPECT_EQ(WaitOfStart(Shift(upkeep), kNew, At(0), At(30)), Ms(0));
    EXPECT_EQ(WaitOfStart(Shift(upkeep), kNew, At(0), At(40)), Ms(90));
    EXPECT_EQ(WaitOfStart(Shift(upkeep), kNew, At(0), At(124)), Ms(6));
    // Within the tolerance on either side.
    EXPECT_EQ(WaitOfStart(Shift(upkeep), kNew, At(0), At(125)), Ms(0));
    EXPECT_EQ(WaitOfStart(Shift(upkeep), kNew, At(0), At(135)), Ms(0));
    EXPECT_EQ(WaitOfStart(Shift(upkeep), kNew, At(0), At(136)), Ms(94));
  }
}

TEST(TimeShiftTest, EachInstantIsForOneIteration) {
  const TimeShift shift = Shift(ShiftUpkeep::kEverySlot);
  // Began at 130, so the next is due at 230, however early it is ready.
  EXPECT_EQ(WaitOfStart(shift, kFresh, At(130), At(140)), Ms(90));
  EXPECT_EQ(WaitOfStart(shift, kFresh, At(130), At(229)), Ms(1));
  // Late: at once, by however much, and the one after that is due at 330 again.
  EXPECT_EQ(WaitOfStart(shift, kFresh, At(130), At(231)), Ms(0));
  EXPECT_EQ(WaitOfStart(shift, kFresh, At(130), At(299)), Ms(0));
  EXPECT_EQ(WaitOfStart(shift, kFresh, At(299), At(320)), Ms(10));
  // 4 ms early counts as the instant to come; 6 ms early does not.
  EXPECT_EQ(WaitOfStart(shift, kFresh, At(126), At(200)), Ms(30));
  EXPECT_EQ(WaitOfStart(shift, kFresh, At(124), At(200)), Ms(0));
}

TEST(TimeShiftTest, DriftIsCorrectedWhereTheJobIsEarly) {
  const TimeShift shift = Shift(ShiftUpkeep::kDrift);
  EXPECT_EQ(WaitOfStart(shift, kOld, At(20), At(120)), Ms(10)) << "as long as the drift, no longer";
  EXPECT_EQ(WaitOfStart(shift, kOld, At(26), At(126)), Ms(0)) << "within the tolerance";
  EXPECT_EQ(WaitOfStart(shift, kOld, At(40), At(140)), Ms(0)) << "late";
  EXPECT_EQ(WaitOfStart(shift, kOld, At(79), At(179)), Ms(0)) << "nearer to the last instant than to the next";
  EXPECT_EQ(WaitOfStart(shift, kOld, At(80), At(180)), Ms(50));
}

TEST(TimeShiftTest, DriftIsCorrectedSeldom) {
  ShiftProgress progress{.is_aligned = true, .iterations = 0};
  const TimeShift shift = Shift(ShiftUpkeep::kDrift);
  for (uint32_t i = 0; i < TimeShift::kIterationsBetweenWaits; ++i) {
    EXPECT_EQ(WaitOfStart(shift, progress, At(20), At(120)), Ms(0));
    progress.CountIteration();
  }
  EXPECT_EQ(WaitOfStart(shift, progress, At(20), At(120)), Ms(10));
  progress.CountIteration();
  EXPECT_EQ(progress.iterations, TimeShift::kIterationsBetweenWaits) << "a state that repeats";
}

TEST(TimeShiftTest, AJobThatLackedBandwidthDoesNotWaitOnTop) {
  const TimeShift shift = Shift(ShiftUpkeep::kDrift);
  // 160 ms for an iteration of 100: it looks 40 ms early, and is 60 ms late.
  EXPECT_EQ(WaitOfStart(shift, kOld, At(30), At(190)), Ms(0));
  EXPECT_EQ(WaitOfStart(shift, kOld, At(85), At(190)), Ms(40)) << "105 ms are within the tolerance";
}

TEST(TimeShiftTest, AOneTimeShiftIsLeftAlone) {
  for (int64_t now = 130; now < 430; now += 7) {
    EXPECT_EQ(WaitOfStart(Shift(ShiftUpkeep::kNever), kOld, At(130), At(now)), Ms(0));
  }
}

}  // namespace
}  // namespace fairlead::traffic
