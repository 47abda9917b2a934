#include "controller/steering_sequences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/sick_host_example.h"

namespace fairlead::controller {
namespace {

constexpr JobId kSequenced(1);

// A job on hosts 0..3, and spares from 10 on.
class SteeringSequencesTest : public testing::Test {
 protected:
  explicit SteeringSequencesTest(uint32_t num_spares = 2) {
    Run(false);
    for (uint32_t i = 0; i < num_spares; ++i) hosts_.Free(HostId(10 + i));
  }

  void Run(bool can_shrink) {
    jobs_.Take(
        SimTime(0),
        JobRunning{.job = kSequenced, .hosts = {HostId(0), HostId(1), HostId(2), HostId(3)}, .can_shrink = can_shrink});
  }
  void Begin(const std::vector<HostId>& guilty) {
    sequences_.Begin(SimTime(0), SickHost(1, kSequenced, HostId(0), SimTime(0)), guilty);
  }
  // The last action that was told; its step has to be that.
  template <class Step>
  SteeringAction Last() {
    const std::vector<SteeringAction> told = outbox_.Take();
    EXPECT_FALSE(told.empty());
    if (told.empty()) return {};
    EXPECT_TRUE(std::holds_alternative<Step>(told.back().step)) << Describe(told.back().step);
    return told.back();
  }
  // The action works, and the sequence goes on.
  void Do(const SteeringAction& action) {
    ASSERT_TRUE(outbox_.Answer(SimTime(0), StepDone{.action = action.number}).has_value());
    ASSERT_NE(sequences_.FindWaitingFor(action), nullptr);
    sequences_.Advance(SimTime(0), action);
  }

  SteeredJobs jobs_{SimDuration(600)};
  SteeredHosts hosts_;
  SteeringOutbox outbox_{AttemptOptions()};
  SteeringSequences sequences_{&jobs_, &hosts_, &outbox_};
};

TEST_F(SteeringSequencesTest, StepAfterStepToTheRestart) {
  Begin({HostId(1)});
  EXPECT_EQ(hosts_.ConditionOf(HostId(1)), HostCondition::kIsolating);
  EXPECT_TRUE(sequences_.IsReserved(HostId(10))) << "set aside before the first step";
  EXPECT_FALSE(sequences_.IsStopped(kSequenced));
  Do(Last<IsolateHost>());
  EXPECT_TRUE(sequences_.IsStopped(kSequenced)) << "about to be";
  Do(Last<StopJob>());
  EXPECT_TRUE(sequences_.Find(kSequenced)->is_stopped);
  const SteeringAction take = Last<TakeSpare>();
  EXPECT_EQ(std::get<TakeSpare>(take.step).spare, HostId(10));
  EXPECT_EQ(std::get<TakeSpare>(take.step).replaces, HostId(1));
  Do(take);
  const SteeringAction restart = Last<RestartJob>();
  EXPECT_THAT(std::get<RestartJob>(restart.step).hosts,
              testing::ElementsAre(HostId(0), HostId(10), HostId(2), HostId(3)));
  EXPECT_EQ(sequences_.FindWaitingFor(restart), sequences_.Find(kSequenced));
  sequences_.Finish(kSequenced);
  EXPECT_TRUE(sequences_.all().empty());
  EXPECT_EQ(hosts_.spares(), std::set<HostId>{HostId(11)});
}

TEST_F(SteeringSequencesTest, DroppedBeforeItsStepsSparesAreFreeAndIsolationsThatWereNotSentAreCancelled) {
  Begin({HostId(1), HostId(2)});
  const SteeringAction isolate = Last<IsolateHost>();
  sequences_.Drop(kSequenced);
  EXPECT_EQ(hosts_.spares(), (std::set<HostId>{HostId(10), HostId(11)}));
  // That of host 1 was sent: it continues.
  EXPECT_EQ(hosts_.ConditionOf(HostId(1)), HostCondition::kIsolating);
  EXPECT_EQ(hosts_.ConditionOf(HostId(2)), std::nullopt);
  EXPECT_NE(outbox_.Find(isolate.number), nullptr);
  sequences_.Drop(kSequenced);  // twice is once
}

TEST_F(SteeringSequencesTest, DroppedLaterSparesThatWereTakenAreInDoubtAndTheStepIsNotWaitedFor) {
  Begin({HostId(1)});
  Do(Last<IsolateHost>());
  Do(Last<StopJob>());
  const SteeringAction take = Last<TakeSpare>();
  sequences_.Drop(kSequenced);
  EXPECT_EQ(hosts_.ConditionOf(HostId(10)), HostCondition::kInDoubt);
  EXPECT_EQ(outbox_.Find(take.number), nullptr);
}

TEST_F(SteeringSequencesTest, ASpareThatCannotBeTakenIsInDoubtAndAnotherOneIsTried) {
  Begin({HostId(1)});
  Do(Last<IsolateHost>());
  Do(Last<StopJob>());
  sequences_.TryAnotherSpare(SimTime(0), Last<TakeSpare>(), "exit code 3");
  EXPECT_EQ(hosts_.ConditionOf(HostId(10)), HostCondition::kInDoubt);
  EXPECT_EQ(std::get<TakeSpare>(Last<TakeSpare>().step).spare, HostId(11));
}

TEST_F(SteeringSequencesTest, AHostThatComesBackKeepsItsPlaceUnlessItIsBeingReplaced) {
  Begin({HostId(1), HostId(2)});
  Do(Last<IsolateHost>());
  Do(Last<IsolateHost>());
  Do(Last<StopJob>());
  const SteeringAction take = Last<TakeSpare>();
  ASSERT_EQ(std::get<TakeSpare>(take.step).replaces, HostId(1));
  for (const HostId host : {HostId(1), HostId(2)}) {
    hosts_.FinishIsolation(host);
    hosts_.FinishReturn(host);
    sequences_.KeepPlace(SimTime(0), host);
  }
  Do(take);
  EXPECT_THAT(std::get<RestartJob>(Last<RestartJob>().step).hosts,
              testing::ElementsAre(HostId(0), HostId(10), HostId(2), HostId(3)));
}

TEST_F(SteeringSequencesTest, AJobIsMovedOnlyToAsManyHosts) {
  Begin({});
  const SteeringAction stop = Last<StopJob>();
  EXPECT_FALSE(sequences_.Move(kSequenced, {HostId(20)})) << "what one host claims alone";
  EXPECT_TRUE(sequences_.Move(kSequenced, {HostId(20), HostId(21), HostId(22), HostId(23)}));
  Do(stop);
  EXPECT_EQ(std::get<RestartJob>(Last<RestartJob>().step).hosts.front(), HostId(20));
}

class WithoutSparesTest : public SteeringSequencesTest {
 protected:
  WithoutSparesTest() : SteeringSequencesTest(0) {}
};

TEST_F(WithoutSparesTest, AJobWaitsForASpareAndPeopleAreAskedOnce) {
  Begin({HostId(1)});
  Do(Last<IsolateHost>());
  Do(Last<StopJob>());
  Last<AskOperator>();
  EXPECT_TRUE(sequences_.Find(kSequenced)->waits_for_spare);
  sequences_.ServeWaiting(SimTime(0));
  EXPECT_TRUE(outbox_.Take().empty()) << "there is none";
  hosts_.Free(HostId(30));
  sequences_.ServeWaiting(SimTime(0));
  EXPECT_EQ(std::get<TakeSpare>(Last<TakeSpare>().step).spare, HostId(30));
  EXPECT_FALSE(sequences_.Find(kSequenced)->waits_for_spare);
}

TEST_F(WithoutSparesTest, AJobThatCanShrinkGoesOnWithFewerHosts) {
  Run(true);
  Begin({HostId(1)});
  Do(Last<IsolateHost>());
  Do(Last<StopJob>());
  EXPECT_THAT(std::get<RestartJob>(Last<RestartJob>().step).hosts,
              testing::ElementsAre(HostId(0), HostId(2), HostId(3)));
}

TEST_F(WithoutSparesTest, ASpareThatAJobUsesIsNotSetAsideAnyMore) {
  hosts_.Free(HostId(30));
  Begin({HostId(1)});
  ASSERT_TRUE(sequences_.IsReserved(HostId(30)));
  sequences_.NoteUsed(HostId(30));
  EXPECT_TRUE(sequences_.Reserved().empty());
}

}  // namespace
}  // namespace fairlead::controller
