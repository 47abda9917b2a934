#include "controller/action_attempts.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace fairlead::controller {
namespace {

SimTime AtAttempt(int64_t s) { return SimTime(s * 1'000'000'000); }

SteeringAction Isolate(uint64_t number) {
  SteeringAction action;
  action.number = number;
  action.step = IsolateHost{HostId(7)};
  return action;
}

StepDone Failure(uint32_t attempt, bool is_final = false) { return {1, attempt, false, is_final, "no route"}; }

TEST(ActionAttemptsTest, PausesDoubleUpToTheirMaximum) {
  AttemptOptions options;
  options.attempts = 6;
  options.pause = SimDuration(10'000'000'000);
  options.pause_max = SimDuration(30'000'000'000);
  ActionAttempts attempts(options);
  attempts.Add(AtAttempt(0), Isolate(1));
  // Pauses of 10, 20, 30, 30, 30 s behind each failure.
  int64_t now = 0;
  for (const int64_t pause : {10, 20, 30, 30, 30}) {
    const uint32_t attempt = attempts.Find(1)->attempt;
    EXPECT_FALSE(attempts.Answer(AtAttempt(now), Failure(attempt)));
    EXPECT_EQ(attempts.NextDue(), AtAttempt(now + pause));
    now += pause;
    std::vector<SteeringAction> again;
    EXPECT_TRUE(attempts.Advance(AtAttempt(now - 1), &again).empty());
    EXPECT_TRUE(again.empty());
    attempts.Advance(AtAttempt(now), &again);
    ASSERT_EQ(again.size(), 1u);
    EXPECT_EQ(again.front().attempt, attempt + 1);
  }
  const auto end = attempts.Answer(AtAttempt(now), Failure(6));
  ASSERT_TRUE(end);
  EXPECT_FALSE(end->succeeded);
  EXPECT_EQ(end->message, "given up after 6 attempts: no route");
  EXPECT_EQ(attempts.NextDue(), SimTime::Never());
}

TEST(ActionAttemptsTest, WhatCannotWorkIsNotTriedAgain) {
  ActionAttempts attempts{AttemptOptions()};
  attempts.Add(AtAttempt(0), Isolate(1));
  const auto end = attempts.Answer(AtAttempt(1), Failure(1, true));
  ASSERT_TRUE(end);
  EXPECT_EQ(end->message, "given up after 1 attempt: no route");
}

TEST(ActionAttemptsTest, SilenceIsFailure) {
  ActionAttempts attempts{AttemptOptions()};
  attempts.Add(AtAttempt(0), Isolate(1));
  std::vector<SteeringAction> again;
  std::vector<ActionAttempts::End> ends;
  for (int64_t now = 0; now < 1000 && ends.empty(); ++now) ends = attempts.Advance(AtAttempt(now), &again);
  // 4 attempts of 120 s, pauses of 5, 10 and 20 s.
  EXPECT_EQ(again.size(), 3u);
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends.front().message, "given up after 4 attempts: no answer in 120 s");
}

// Law: whatever is answered, and however often, an action is sent at most `attempts` times and ends at most once.
// A controller whose clock was hours ahead has died during a pause: the next one does not wait for that time.
TEST(ActionAttemptsTest, APauseOfAnEarlierClockIsNoLongerThanFromNowOn) {
  ActionAttempts attempts{AttemptOptions()};
  attempts.Add(AtAttempt(7200), Isolate(1));
  EXPECT_FALSE(attempts.Answer(AtAttempt(7200), Failure(1)));
  EXPECT_TRUE(attempts.BeginAnew(AtAttempt(10)).empty());
  EXPECT_EQ(attempts.NextDue(), AtAttempt(10) + AttemptOptions().pause);
}

TEST(ActionAttemptsTest, EveryActionEndsOnceInBoundedTime) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    ActionAttempts attempts{AttemptOptions()};
    attempts.Add(AtAttempt(0), Isolate(1));
    size_t num_reported = 1;
    size_t num_ends = 0;
    for (int64_t now = 0; now < 600; ++now) {
      std::vector<SteeringAction> again;
      num_ends += attempts.Advance(AtAttempt(now), &again).size();
      num_reported += again.size();
      if (random.Below(50) > 0) continue;
      StepDone answer{1, static_cast<uint32_t>(random.Below(5)), random.Below(4) == 0, random.Below(20) == 0, ""};
      num_ends += attempts.Answer(AtAttempt(now), answer) ? 1 : 0;
    }
    EXPECT_LE(num_reported, 4u);
    // 4 times 120 s and 35 s of pauses are less than 600 s.
    EXPECT_EQ(num_ends, 1u);
    EXPECT_EQ(attempts.num_open(), 0u);
  }
}

TEST(ActionAttemptsTest, Options) {
  EXPECT_TRUE(AttemptOptions().Validate().ok());
  AttemptOptions options;
  options.attempts = 0;
  EXPECT_FALSE(options.Validate().ok());
  options = {};
  options.deadline = SimDuration(0);
  EXPECT_FALSE(options.Validate().ok());
  options = {};
  options.pause_max = SimDuration(1);
  EXPECT_FALSE(options.Validate().ok());
}

}  // namespace
}  // namespace fairlead::controller
