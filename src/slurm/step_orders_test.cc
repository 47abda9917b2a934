#include "slurm/step_orders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace fairlead::slurm {
namespace {

using controller::HostTested;
using controller::SteeringEvent;
using controller::StepDone;
using std::chrono::milliseconds;
using testing::ElementsAre;
using Kind = StepProgress::Kind;

constexpr StepPatience kPatience = {.long_steps = milliseconds(1000), .others = milliseconds(100)};
const StepOrders::Clock::time_point kStart{};

StepOrder Order(uint64_t action, uint32_t attempt = 1, controller::SteeringStep step = controller::StopJob{JobId(3)}) {
  StepOrder order;
  order.action = action;
  order.attempt = attempt;
  order.step = std::move(step);
  return order;
}

TEST(StepOrdersTest, AnOrderGoesOnUntilItHasOneOutcome) {
  StepOrders orders(kPatience);
  orders.Put(Order(2), kStart);
  orders.Put(Order(1), kStart);
  ASSERT_EQ(orders.Underway().size(), 2u);
  EXPECT_EQ(orders.Underway()[0].order.action, 1u) << "by number";
  const auto turn = orders.Underway()[0];
  orders.Take(turn, {Kind::kUnderway, "it is being ended"}, kStart);
  EXPECT_EQ(orders.Underway()[0].message, "it is being ended");
  EXPECT_TRUE(orders.TakeOutcomes().empty());
  orders.Take(turn, {Kind::kDone, "stopped"}, kStart);
  EXPECT_EQ(orders.Underway().size(), 1u);
  const std::vector<SteeringEvent> outcomes = orders.TakeOutcomes();
  ASSERT_EQ(outcomes.size(), 1u);
  const StepDone& done = std::get<StepDone>(outcomes[0]);
  EXPECT_EQ(done.action, 1u);
  EXPECT_TRUE(done.succeeded);
  EXPECT_FALSE(done.is_final);
  EXPECT_EQ(done.message, "stopped");
  EXPECT_TRUE(orders.TakeOutcomes().empty());
}

// Patience is 100 ms for a stop, 1 s for a restart; what is done in its last moment is done.
TEST(StepOrdersTest, PatienceEnds) {
  StepOrders orders(kPatience);
  orders.Put(Order(1), kStart);
  orders.Put(Order(2, 1, controller::RestartJob{JobId(3), {HostId(0)}}), kStart);
  orders.Put(Order(3), kStart);
  const auto turns = orders.Underway();
  orders.Take(turns[0], {Kind::kUnderway, "waits"}, kStart + milliseconds(99));
  EXPECT_EQ(orders.counts().underway, 3u);
  for (const auto& turn : {turns[0], turns[1]}) {
    orders.Take(turn, {Kind::kUnderway, "waits"}, kStart + milliseconds(100));
  }
  orders.Take(turns[2], {Kind::kDone, ""}, kStart + milliseconds(100));
  ASSERT_EQ(orders.Underway().size(), 1u);
  EXPECT_EQ(orders.Underway()[0].order.action, 2u);
  const auto outcomes = orders.TakeOutcomes();
  ASSERT_EQ(outcomes.size(), 2u);
  EXPECT_FALSE(std::get<StepDone>(outcomes[0]).succeeded);
  EXPECT_FALSE(std::get<StepDone>(outcomes[0]).is_final) << "another attempt may do better";
  EXPECT_EQ(std::get<StepDone>(outcomes[0]).message, "not within its time: waits");
  EXPECT_TRUE(std::get<StepDone>(outcomes[1]).succeeded);
}

TEST(StepOrdersTest, ANewerAttemptTakesThePlaceOfAnOlderOne) {
  StepOrders orders(kPatience);
  orders.Put(Order(1, 1), kStart);
  const auto older = orders.Underway()[0];
  orders.Put(Order(1, 2), kStart + milliseconds(50));
  orders.Take(older, {Kind::kUnderway, "of the older one"}, kStart);
  EXPECT_EQ(orders.Underway()[0].message, "");
  orders.Take(older, {Kind::kRefused, "no"}, kStart);
  ASSERT_EQ(orders.Underway().size(), 1u) << "the newer one goes on";
  EXPECT_EQ(orders.Underway()[0].order.attempt, 2u);
  EXPECT_EQ(orders.Underway()[0].until, kStart + milliseconds(150));
  const auto outcomes = orders.TakeOutcomes();
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(std::get<StepDone>(outcomes[0]).attempt, 1u);
  EXPECT_TRUE(std::get<StepDone>(outcomes[0]).is_final);
}

TEST(StepOrdersTest, ATestAlsoTellsOfItsHost) {
  StepOrders orders(kPatience);
  orders.Put(Order(1, 1, controller::TestHost{HostId(4)}), kStart);
  orders.Put(Order(2, 1, controller::TestHost{HostId(5)}), kStart);
  const auto turns = orders.Underway();
  orders.Take(turns[0], {Kind::kDone, "", false}, kStart);
  orders.Take(turns[1], {Kind::kFailed, "srun can't be started"}, kStart);
  const auto outcomes = orders.TakeOutcomes();
  ASSERT_EQ(outcomes.size(), 3u) << "nothing is known of h5";
  EXPECT_EQ(std::get<HostTested>(outcomes[1]).host, HostId(4));
  EXPECT_FALSE(std::get<HostTested>(outcomes[1]).is_healthy);
}

TEST(StepOrdersTest, EndsAreCountedAndOtherNewsAreNot) {
  StepOrders orders(kPatience);
  for (uint64_t action = 1; action <= 4; ++action) orders.Put(Order(action), kStart);
  const auto turns = orders.Underway();
  orders.Take(turns[0], {Kind::kDone, ""}, kStart);
  orders.Take(turns[1], {Kind::kFailed, ""}, kStart);
  orders.Take(turns[2], {Kind::kRefused, ""}, kStart);
  orders.Report({controller::SpareOffered{HostId(4)}});
  EXPECT_EQ(orders.counts().underway, 1u);
  EXPECT_EQ(orders.counts().ended, (std::map<std::string, uint64_t>{{"done", 1}, {"failed", 1}, {"refused", 1}}));
  EXPECT_EQ(orders.TakeOutcomes().size(), 4u);
}

TEST(StepOrdersTest, WhatTheyAreAbout) {
  StepOrders orders(kPatience);
  StepOrder stop = Order(1);
  stop.job = "gpt@1001.slurm-7";
  StepOrder isolate = Order(2, 1, controller::IsolateHost{HostId(1)});
  isolate.job = "gpt@1001.slurm-7";
  isolate.host = "h1";
  StepOrder other = Order(3);
  other.job = "gpt@1001";
  for (const StepOrder& order : {stop, isolate, other}) orders.Put(order, kStart);
  EXPECT_THAT(orders.Subjects(), ElementsAre("host h1", "job 0", "job 7"));
  EXPECT_THAT(orders.Jobs(), ElementsAre(0, 7));
}

TEST(StepOrdersTest, WaitEndsWithTheTimeThatItIsGiven) {
  StepOrders orders(kPatience);
  const auto now = StepOrders::Clock::now();
  const auto never = now + std::chrono::hours(1);
  EXPECT_TRUE(orders.Wait(now, never)) << "none is under way";
  orders.Put(Order(1), kStart);
  EXPECT_TRUE(orders.Wait(never, now)) << "one is";
}

// A wait of an hour, which the test would not survive, ends with an order and with the end.
TEST(StepOrdersTest, WaitEndsWithNews) {
  StepOrders orders(kPatience);
  const auto never = StepOrders::Clock::now() + std::chrono::hours(1);
  std::thread giver([&] {
    orders.Put(Order(1), kStart);
    while (orders.TakeOutcomes().empty()) std::this_thread::yield();
    orders.Stop();
  });
  // The order may be there before the first wait begins.
  while (orders.Underway().empty()) EXPECT_TRUE(orders.Wait(never, StepOrders::Clock::now()));
  EXPECT_FALSE(orders.is_over());
  orders.Take(orders.Underway()[0], {Kind::kDone, ""}, kStart);
  EXPECT_FALSE(orders.Wait(never, never));
  EXPECT_TRUE(orders.is_over());
  giver.join();
}

}  // namespace
}  // namespace fairlead::slurm
