// Queue pairs in a process that has the library loaded, with stand-ins for the libraries of the NIC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "base/shell_output.h"
#include "ccl/steer/fake_agent_example.h"

namespace fairlead::ccl {
namespace {

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
  for (const std::string way : {"linked", "looked-up"}) {
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

TEST(SteerVerbsTest, InfiniBandAndDatagramsAreLeftAlone) {
  FakeAgent agent(Always(Use(50000, 184)));
  EXPECT_EQ(RunQueuePair(Environment(agent), "linked local"), kUntouched);
  EXPECT_EQ(RunQueuePair(Environment(agent), "looked-up datagram"), kUntouched);
  agent.Stop();
  EXPECT_THAT(agent.questions(), IsEmpty());
}

}  // namespace
}  // namespace fairlead::ccl
