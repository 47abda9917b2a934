// Queue pairs in a process that has the library loaded, with stand-ins for the libraries of the NIC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>

#include "base/shell_output.h"
#include "ccl/steer/fake_agent_example.h"

namespace fairlead::ccl {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string RunQueuePair(const std::string& environment, const std::string& arguments) {
  return OutputOf("LD_PRELOAD=" FAIRLEAD_STEER_LIBRARY " LD_LIBRARY_PATH=" FAIRLEAD_STAND_IN_FOLDER " " + environment +
                  " " FAIRLEAD_QUEUE_PAIR_CLIENT " " + arguments);
}

// States by number: 1 initialized, 2 ready to receive, 3 ready to send. Class 8 is what the process itself asks for.
constexpr char kUntouched[] =
    "modify qp 77 state 1\n"
    "modify qp 77 state 2 class 8 port 0\n"
    "modify qp 77 state 3\n"
    "the caller's attributes and errno stay\n";
constexpr char kSteered[] =
    "modify qp 77 state 1\n"
    "modify qp 77 state 2 class 184 port 50000\n"
    "modify qp 77 state 3\n"
    "the caller's attributes and errno stay\n";

TEST(SteerVerbsTest, AQueuePairGetsThePortAndTheClassOfTheAnswer) {
  for (const std::string way : {"linked", "looked-up", "looked-up-plain"}) {
    FakeAgent agent(Always(Use(50000, 184)));
    EXPECT_EQ(RunQueuePair(Environment(agent), way), kSteered) << way;
    agent.Stop();
    ASSERT_THAT(agent.questions(), SizeIs(1));
    const shm::SteeringQuestion& question = agent.questions()[0];
    EXPECT_EQ(question.kind, shm::SteeringQuestionKind::kQueuePair);
    EXPECT_EQ(question.queue_pair, 77);
    EXPECT_EQ(question.destination_port, 4791);
    EXPECT_EQ(question.source.bytes[15], 3) << "the stand-in's address of index 3";
    EXPECT_EQ(question.destination.bytes[15], 9);
    ASSERT_THAT(agent.outcomes(), SizeIs(1));
    EXPECT_EQ(agent.outcomes()[0].source_port, 50000);
    EXPECT_EQ(agent.outcomes()[0].steered, 1);
  }
}

TEST(SteerVerbsTest, WithMellanoxThePortIsAlsoSetOnceTheQueuePairCanSend) {
  FakeAgent agent(Always(Use(50000, 184)));
  EXPECT_EQ(RunQueuePair(Environment(agent), "looked-up mlx5"),
            "modify qp 77 state 1\n"
            "modify qp 77 state 2 class 184 port 50000\n"
            "modify qp 77 state 3\n"
            "mlx5 qp 77 port 50000\n"
            "the caller's attributes and errno stay\n");
}

// From the smallest to the greatest port of RoCE.
TEST(SteerVerbsTest, EveryPortOfRoceCanBeReached) {
  for (const uint16_t port : {0xc000, 0xc001, 0xc100, 0xffff}) {
    FakeAgent agent(Always(Use(port)));
    EXPECT_THAT(RunQueuePair(Environment(agent), "linked"),
                testing::HasSubstr("class 8 port " + std::to_string(port) + "\n"));
  }
}

TEST(SteerVerbsTest, AClassAloneLeavesThePort) {
  FakeAgent agent(Always(Use(0, 96)));
  EXPECT_THAT(RunQueuePair(Environment(agent), "linked mlx5"), testing::HasSubstr("state 2 class 96 port 0\n"));
  agent.Stop();
  ASSERT_THAT(agent.outcomes(), SizeIs(1));
  EXPECT_EQ(agent.outcomes()[0].steered, 0);
}

TEST(SteerVerbsTest, WhatTheDriverRefusesIsTakenBack) {
  FakeAgent agent(Always(Use(50000, 184)));
  EXPECT_EQ(RunQueuePair(Environment(agent) + " FAIRLEAD_TEST_REFUSE=1", "looked-up mlx5"), kUntouched);
  agent.Stop();
  ASSERT_THAT(agent.outcomes(), SizeIs(1));
  EXPECT_EQ(agent.outcomes()[0].steered, 0);
}

TEST(SteerVerbsTest, WithoutJobAgentOrAnswerNothingChanges) {
  FakeAgent agent([](const shm::SteeringQuestion&) { return std::string("?"); });
  for (const std::string way : {"linked mlx5", "looked-up mlx5"}) {
    EXPECT_EQ(RunQueuePair("FAIRLEAD_AGENT_SOCKET=" + agent.path(), way), kUntouched);
    EXPECT_EQ(RunQueuePair("FAIRLEAD_JOB=gpt FAIRLEAD_AGENT_SOCKET=/nowhere/agent.sock", way), kUntouched);
    EXPECT_EQ(RunQueuePair(Environment(agent), way), kUntouched);
  }
}

TEST(SteerVerbsTest, InfiniBandDatagramsAndLoopbackAreLeftAlone) {
  FakeAgent agent(Always(Use(50000, 184)));
  EXPECT_EQ(RunQueuePair(Environment(agent), "linked local"), kUntouched);
  EXPECT_EQ(RunQueuePair(Environment(agent), "looked-up datagram"), kUntouched);
  EXPECT_EQ(RunQueuePair(Environment(agent), "looked-up loopback"), kUntouched);
  EXPECT_EQ(RunQueuePair(Environment(agent) + " FAIRLEAD_TEST_INFINIBAND=1", "looked-up mlx5"), kUntouched)
      << "with a global route header, too";
  agent.Stop();
  EXPECT_THAT(agent.questions(), IsEmpty());
}

TEST(SteerVerbsTest, AFlowLabelThatTheProcessHasChosenStays) {
  FakeAgent agent(Always(Use(50000, 184)));
  EXPECT_THAT(RunQueuePair(Environment(agent), "linked mlx5 labelled"),
              testing::AllOf(testing::HasSubstr("state 2 class 184 port 49157\n"), testing::Not(HasSubstr("mlx5"))));
  agent.Stop();
  ASSERT_THAT(agent.questions(), SizeIs(1));
  EXPECT_EQ(agent.questions()[0].source_port, 49'157);
}

// Numbers of queue pairs are those of one NIC.
TEST(SteerVerbsTest, QueuePairsOfOneNumberHaveAPortEach) {
  uint16_t next = 50'000;
  FakeAgent agent([&](const shm::SteeringQuestion&) { return Bytes(Use(++next)); });
  EXPECT_EQ(RunQueuePair(Environment(agent), "looked-up mlx5 twins"),
            "modify qp 77 state 1\n"
            "modify qp 77 state 2 class 8 port 50001\n"
            "modify qp 77 state 2 class 8 port 50002\n"
            "modify qp 77 state 3\n"
            "mlx5 qp 77 port 50002\n"
            "modify qp 77 state 3\n"
            "mlx5 qp 77 port 50001\n"
            "the caller's attributes and errno stay\n");
}

TEST(SteerVerbsTest, WhatWasAnsweredEndsWithTheQueuePair) {
  for (const std::string end : {"reset", "destroyed"}) {
    for (const std::string way : {"linked", "looked-up", "looked-up-plain"}) {
      FakeAgent agent(Always(Use(50'000)));
      EXPECT_THAT(RunQueuePair(Environment(agent), way + " mlx5 " + end), testing::Not(HasSubstr("mlx5"))) << end;
      agent.Stop();
      EXPECT_THAT(agent.questions(), SizeIs(1));
      EXPECT_THAT(agent.outcomes(), IsEmpty()) << "hung up: nothing came of it";
    }
  }
}

TEST(SteerVerbsTest, TheAgentLearnsWhatTheNicHasTaken) {
  for (const std::string refusal : {"FAIRLEAD_TEST_NO_SPORT=95", "FAIRLEAD_TEST_NO_BOND=22"}) {
    shm::SteeringAnswer answer = Use(50'000);
    answer.bond_port = 2;
    FakeAgent agent(Always(answer));
    EXPECT_THAT(RunQueuePair(Environment(agent) + " " + refusal, "looked-up mlx5"),
                HasSubstr("mlx5 qp 77 port 50000\n"));
    agent.Stop();
    ASSERT_THAT(agent.outcomes(), SizeIs(1)) << refusal;
    EXPECT_EQ(agent.outcomes()[0].source_port, 0) << refusal;
    EXPECT_EQ(agent.outcomes()[0].steered, 0) << refusal;
  }
}

// 95 is EOPNOTSUPP: in no bond.
TEST(SteerVerbsTest, InABondThePortOfTheBondIsChosen) {
  for (const std::string environment : {"", " FAIRLEAD_TEST_NO_BOND=95"}) {
    shm::SteeringAnswer answer = Use(50'000);
    answer.bond_port = 2;
    FakeAgent agent(Always(answer));
    EXPECT_THAT(RunQueuePair(Environment(agent) + environment, "linked mlx5"),
                HasSubstr("mlx5 qp 77 port 50000\nmlx5 qp 77 bond port 2\n"));
    agent.Stop();
    ASSERT_THAT(agent.outcomes(), SizeIs(1));
    EXPECT_EQ(agent.outcomes()[0].source_port, 50'000);
  }
}

// Its library is loaded, but the queue pair is another NIC's: the label does it.
TEST(SteerVerbsTest, AnotherMakersNicIsNotAskedForMellanoxsPort) {
  FakeAgent agent(Always(Use(50'000)));
  EXPECT_THAT(RunQueuePair(Environment(agent) + " FAIRLEAD_TEST_OTHER_NIC=1", "linked mlx5"),
              testing::AllOf(HasSubstr("class 8 port 50000\n"), testing::Not(HasSubstr("mlx5"))));
  agent.Stop();
  ASSERT_THAT(agent.outcomes(), SizeIs(1));
  EXPECT_EQ(agent.outcomes()[0].source_port, 50'000);
}

// Nothing about a queue pair can be changed later: it waits for half a second where a connection waits for 1 ms.
TEST(SteerVerbsTest, AQueuePairWaitsLongerThanAConnection) {
  FakeAgent agent([&](const shm::SteeringQuestion&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return Bytes(Use(50'000, 184));
  });
  EXPECT_EQ(RunQueuePair(Environment(agent, 1), "looked-up"), kSteered);
}

}  // namespace
}  // namespace fairlead::ccl
