#include "agent/controller_stream.h"

#include <gtest/gtest.h>

#include "agent/agent_components_example.h"

namespace fairlead::agent {
namespace {

class ControllerStreamTest : public testing::Test {
 protected:
  bool Welcome(int64_t period_ms) {
    return stream_.Hear(controller::Welcome{"test", SimDuration(period_ms * 1'000'000), {}});
  }

  AgentOutbox outbox_{SimTime(0)};
  ControllerStream stream_{{.host = "h0", .agent_version = "1.2", .nics = {}}, &outbox_};
};

TEST_F(ControllerStreamTest, OnlyTheHelloIsSentBeforeTheWelcome) {
  EXPECT_FALSE(stream_.HearMessage()) << "there is no stream";
  stream_.Open();
  EXPECT_TRUE(stream_.HearMessage());
  stream_.SendHeartbeat({.num_leases = 0});
  EXPECT_EQ(stream_.NextDue(), SimTime::Never());
  EXPECT_TRUE(Welcome(1000));
  EXPECT_FALSE(Welcome(1000)) << "the second time";
  const auto sent = ActionsIn<SendToController>(outbox_.TakeActions());
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(std::get<controller::HostHello>(sent[0].message).host, "h0");
  stream_.Break();
  EXPECT_FALSE(stream_.HearMessage());
  EXPECT_FALSE(outbox_.is_welcome());
}

TEST_F(ControllerStreamTest, HeartbeatsHaveAPeriodThatIsNotTooShort) {
  stream_.Open();
  Welcome(0);
  EXPECT_EQ(stream_.NextDue(), SimTime(0) + ControllerStream::kShortestHeartbeat);
  EXPECT_FALSE(stream_.IsHeartbeatDue());
  outbox_.SetTime(SimTime(150'000'000));
  EXPECT_TRUE(stream_.IsHeartbeatDue());
  outbox_.TakeActions();
  stream_.SendHeartbeat({.num_leases = 3});
  EXPECT_EQ(MessagesIn<controller::Heartbeat>(outbox_.TakeActions()),
            (std::vector<controller::Heartbeat>{{.num_leases = 3}}));
  EXPECT_EQ(stream_.NextDue(), SimTime(250'000'000));
}

TEST_F(ControllerStreamTest, ItListensFromTheWelcomeUntilItMissesADeadline) {
  EXPECT_FALSE(stream_.is_listening());
  stream_.Open();
  EXPECT_FALSE(stream_.is_listening());
  Welcome(1000);
  outbox_.TakeActions();
  stream_.MissDeadline();
  stream_.MissDeadline();
  EXPECT_FALSE(stream_.is_listening());
  EXPECT_EQ(ActionsIn<Noted>(outbox_.TakeActions()).size(), 1u) << "noted once";
  EXPECT_TRUE(stream_.HearMessage());
  EXPECT_TRUE(stream_.is_listening());
  stream_.Hear(controller::Refused{"no"});
  EXPECT_FALSE(stream_.is_listening());
}

}  // namespace
}  // namespace fairlead::agent
