#include "controller/steering_outbox.h"

#include <gtest/gtest.h>

#include "controller/sick_host_example.h"

namespace fairlead::controller {
namespace {

TEST(SteeringOutboxTest, ActionsAreNumberedInOrderAndCarryTheirFinding) {
  SteeringOutbox outbox{AttemptOptions()};
  const model::Finding finding = SickHost(7, JobId(1), HostId(3), SimTime(5));
  EXPECT_EQ(outbox.Tell(SimTime(0), IsolateHost{HostId(3)}, JobId(1), &finding, "sick"), 1u);
  EXPECT_EQ(outbox.Tell(SimTime(0), Advise{JobId(1)}, JobId(1), nullptr, "nothing to do"), 2u);
  const std::vector<SteeringAction> told = outbox.Take();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].number, 1u);
  EXPECT_EQ(told[0].finding, finding.id);
  EXPECT_EQ(told[0].confidence, finding.confidence);
  EXPECT_EQ(told[0].reason, "sick");
  EXPECT_EQ(told[1].number, 2u);
  EXPECT_FALSE(told[1].finding.valid());
  EXPECT_TRUE(outbox.Take().empty());
}

TEST(SteeringOutboxTest, OnlyWhatIsAnsweredIsWaitedFor) {
  SteeringOutbox outbox{AttemptOptions()};
  const uint64_t isolate = outbox.Tell(SimTime(0), IsolateHost{HostId(3)}, JobId(1), nullptr, "sick");
  const uint64_t advice = outbox.Tell(SimTime(0), Advise{JobId(1)}, JobId(1), nullptr, "nothing to do");
  EXPECT_TRUE(outbox.Awaits<IsolateHost>(isolate));
  EXPECT_FALSE(outbox.Awaits<StopJob>(isolate));
  EXPECT_EQ(outbox.Find(advice), nullptr);
  EXPECT_FALSE(outbox.Awaits<IsolateHost>(0));
  ASSERT_TRUE(outbox.Answer(SimTime(1), StepDone{.action = isolate}).has_value());
  EXPECT_FALSE(outbox.Awaits<IsolateHost>(isolate));
}

TEST(SteeringOutboxTest, WhatIsDueIsToldAgain) {
  AttemptOptions options;
  options.deadline = SimDuration(100);
  options.pause = options.pause_max = SimDuration(10);
  SteeringOutbox outbox(options);
  const uint64_t number = outbox.Tell(SimTime(0), StopJob{JobId(1)}, JobId(1), nullptr, "hangs");
  outbox.Take();
  EXPECT_TRUE(outbox.Advance(SimTime(100)).empty());
  EXPECT_TRUE(outbox.Take().empty()) << "it pauses";
  EXPECT_TRUE(outbox.Advance(SimTime(110)).empty());
  const std::vector<SteeringAction> again = outbox.Take();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].number, number);
  EXPECT_EQ(again[0].attempt, 2u);
}

TEST(SteeringOutboxTest, CountsOnAfterARestart) {
  SteeringOutbox before{AttemptOptions()};
  for (uint32_t host = 0; host < 3; ++host)
    before.Tell(SimTime(0), TestHost{HostId(host)}, JobId(), nullptr, "isolated");
  before.Forget(2);
  std::vector<ActionAttempts::Open> open;
  for (const auto& [number, one] : before.attempts().open()) open.push_back(one);
  SteeringOutbox after{AttemptOptions()};
  after.Restore(before.num_actions(), std::move(open));
  EXPECT_EQ(after.attempts().num_open(), 2u);
  EXPECT_EQ(after.Tell(SimTime(0), TestHost{HostId(9)}, JobId(), nullptr, "isolated"), 4u);
  after.ForgetAll();
  EXPECT_EQ(after.attempts().num_open(), 0u);
}

}  // namespace
}  // namespace fairlead::controller
