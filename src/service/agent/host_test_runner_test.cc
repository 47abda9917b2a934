#include "service/agent/host_test_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <string>
#include <variant>
#include <vector>

namespace fairlead::service {
namespace {

using controller::HostTestDone;
using controller::HostTestKind;
using controller::HostTestWanted;
using testing::HasSubstr;

class HostTestRunnerTest : public testing::Test {
 protected:
  // The next event of the inbox.
  agent::HostEvent Next() {
    while (events_.empty()) {
      pollfd watched = {.fd = inbox_.descriptor(), .events = POLLIN, .revents = 0};
      if (poll(&watched, 1, 60'000) != 1) throw std::runtime_error("nothing comes");
      for (agent::HostEvent& event : inbox_.Take()) events_.push_back(std::move(event));
    }
    agent::HostEvent event = std::move(events_.front());
    events_.erase(events_.begin());
    return event;
  }
  HostTestDone NextDone() { return std::get<agent::HostTestEnded>(Next()).done; }
  HostTestDone BurnIn(const std::string& script) {
    HostTestRunner runner({"/bin/sh", "-c", script, "burn-in"}, &inbox_);
    HostTestWanted wanted;
    wanted.test = 3;
    wanted.kind = HostTestKind::kBurnIn;
    wanted.length = SimDuration(1'500'000'000);
    runner.Run(wanted);
    return NextDone();
  }
  static HostTestWanted Transfer(uint64_t test, HostTestKind kind) {
    const IpAddress loopback = IpAddress::FromIpv4(0x7f000001);
    HostTestWanted wanted;
    wanted.test = test;
    wanted.kind = kind;
    wanted.local = loopback;
    wanted.peer = loopback;
    wanted.secret = 77;
    wanted.rate_max = 20e6;
    wanted.length = SimDuration(500'000'000);
    return wanted;
  }

  EventInbox inbox_;
  std::vector<agent::HostEvent> events_;
};

TEST_F(HostTestRunnerTest, ATransferHasTwoParts) {
  HostTestRunner runner({}, &inbox_);
  runner.Run(Transfer(1, HostTestKind::kReceive));
  const auto listens = std::get<agent::HostTestListens>(Next());
  EXPECT_EQ(listens.test, 1U);
  HostTestWanted sender = Transfer(2, HostTestKind::kSend);
  sender.port = listens.port;
  runner.Run(sender);
  for (int i = 0; i < 2; ++i) {
    const HostTestDone done = NextDone();
    EXPECT_EQ(done.error, "");
    if (done.test == 1) {
      EXPECT_NEAR(done.rate, 20e6, 5e6);
    } else {
      EXPECT_GT(done.rtt, Seconds());
    }
  }
}

TEST_F(HostTestRunnerTest, AReceiverWithoutItsAddressIsRefused) {
  HostTestRunner runner({}, &inbox_);
  HostTestWanted wanted = Transfer(1, HostTestKind::kReceive);
  wanted.local = IpAddress::FromIpv4(0xc0000201);  // 192.0.2.1, of documents
  runner.Run(wanted);
  const HostTestDone done = NextDone();
  EXPECT_TRUE(done.is_refused);
  EXPECT_THAT(done.error, HasSubstr("can't listen on 192.0.2.1"));
}

TEST_F(HostTestRunnerTest, TheLastLineOfBurnInIsItsScore) {
  const HostTestDone done = BurnIn("echo warming up; echo 100; echo $1.5");
  EXPECT_EQ(done.error, "");
  EXPECT_EQ(done.score, 2.5) << "it is told whole seconds";
  EXPECT_FALSE(done.is_refused);
}

TEST_F(HostTestRunnerTest, BurnInThatFailsFailsTheHost) {
  const HostTestDone done = BurnIn("echo 5; echo 'GPU 3: wrong result' >&2; exit 4");
  EXPECT_EQ(done.error, "exit code 4: GPU 3: wrong result");
  EXPECT_FALSE(done.is_refused);
}

TEST_F(HostTestRunnerTest, AProgramThatIsNoBurnInFailsNobody) {
  const HostTestDone done = BurnIn("echo fine");
  EXPECT_EQ(done.error, "expected a number as its last line, found 'fine'");
  EXPECT_TRUE(done.is_refused);
  for (const std::vector<std::string>& command : {std::vector<std::string>(), {"/no/such/program"}}) {
    HostTestRunner runner(command, &inbox_);
    HostTestWanted wanted;
    wanted.test = 3;
    wanted.kind = HostTestKind::kBurnIn;
    wanted.length = SimDuration(1);
    runner.Run(wanted);
    const HostTestDone refused = NextDone();
    EXPECT_TRUE(refused.is_refused);
    EXPECT_NE(refused.error, "");
  }
}

TEST_F(HostTestRunnerTest, StopEndsWhatIsUnderWay) {
  HostTestRunner runner({"/bin/sleep"}, &inbox_);
  HostTestWanted wanted;
  wanted.test = 3;
  wanted.kind = HostTestKind::kBurnIn;
  wanted.length = SimDuration(500'000'000'000);
  runner.Run(wanted);
  runner.Stop();
  EXPECT_EQ(NextDone().error, "it was stopped");
}

}  // namespace
}  // namespace fairlead::service
