#include "controller/host_test_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "controller/traffic_components_example.h"

namespace fairlead::controller {
namespace {

using node_check::TransferResult;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Outcome = TransferResult::Outcome;

class HostTestRunsTest : public testing::Test {
 protected:
  HostTestRunsTest() {
    for (uint32_t host = 0; host < 3; ++host) Connect(host, true);
  }
  void Connect(uint32_t host, bool can_test) {
    HostHello hello = example_.Hello(host);
    hello.can_test = can_test;
    example_.streams.Bind(StreamId(host), HostId(host), hello, SimTime());
    example_.outputs.Take();
  }
  uint64_t BeginTransfer() {
    return tests_.BeginTransfer(SimTime(), {.sender = HostId(0u),
                                            .receiver = HostId(1),
                                            .source = NicAddress(0),
                                            .destination = NicAddress(1),
                                            .num_streams = 2,
                                            .length = kLength});
  }
  std::vector<HostTestWanted> Wanted() { return MessagesIn<HostTestWanted>(example_.outputs.Take()); }
  // Begins one, and lets its receiver listen.
  uint64_t BeginListening() {
    const uint64_t test = BeginTransfer();
    tests_.Hear(HostId(1), HostTestReady{.test = test, .port = 4000});
    return test;
  }
  static HostTestDone Done(uint64_t test, double rate = 0, const std::string& error = "", bool is_refused = false) {
    HostTestDone done;
    done.test = test;
    done.rate = rate;
    done.error = error;
    done.is_refused = is_refused;
    return done;
  }

  static constexpr SimDuration kLength = SimDuration(2'000'000'000);
  ComponentExample example_;
  HostTestRuns tests_{1, &example_.streams};
};

TEST_F(HostTestRunsTest, TheSenderIsAskedWhenTheReceiverListens) {
  const uint64_t test = BeginTransfer();
  std::vector<HostTestWanted> wanted = Wanted();
  ASSERT_THAT(wanted, SizeIs(1));
  EXPECT_EQ(wanted[0].kind, HostTestKind::kReceive);
  EXPECT_EQ(wanted[0].local, NicAddress(1));
  EXPECT_EQ(wanted[0].peer, NicAddress(0));
  const uint64_t secret = wanted[0].secret;
  tests_.Hear(HostId(2), HostTestReady{.test = test, .port = 4000});  // not its business
  EXPECT_THAT(Wanted(), IsEmpty());
  tests_.Hear(HostId(1), HostTestReady{.test = test, .port = 4000});
  tests_.Hear(HostId(1), HostTestReady{.test = test, .port = 4001});  // once
  wanted = Wanted();
  ASSERT_THAT(wanted, SizeIs(1));
  EXPECT_EQ(wanted[0].kind, HostTestKind::kSend);
  EXPECT_EQ(wanted[0].local, NicAddress(0));
  EXPECT_EQ(wanted[0].peer, NicAddress(1));
  EXPECT_EQ(wanted[0].port, 4000);
  EXPECT_EQ(wanted[0].secret, secret);
  EXPECT_EQ(wanted[0].num_streams, 2U);
  HostTestDone sent = Done(test);
  sent.lost_share = 0.25;
  sent.rtt = Seconds(1e-4);
  tests_.Hear(HostId(0u), sent);
  EXPECT_THAT(tests_.TakeEnded(), IsEmpty());
  tests_.Hear(HostId(1), Done(test, 5e9));
  const std::vector<HostTestRuns::Ended> ended = tests_.TakeEnded();
  ASSERT_THAT(ended, SizeIs(1));
  EXPECT_EQ(ended[0].test, test);
  EXPECT_EQ(ended[0].transfer,
            (TransferResult{
                .outcome = Outcome::kMeasured, .rate = 5e9, .lost_share = 0.25, .rtt = Seconds(1e-4), .error = ""}));
}

// What is no answer is nobody's fault; what has failed is of one of the two.
TEST_F(HostTestRunsTest, EachEndHasItsOutcome) {
  struct Case {
    std::function<void(uint64_t test)> play;
    Outcome outcome;
    std::string error;
  };
  const HostId sender(0u);
  const HostId receiver(1);
  const std::vector<Case> cases = {
      {[&](uint64_t test) {
         tests_.Hear(receiver, Done(test, 0, "no connection came"));
         tests_.Hear(sender, Done(test, 0, "no route to host"));
       },
       Outcome::kFailed, "no connection came"},
      {[&](uint64_t test) { tests_.Hear(sender, Done(test, 0, "busy", true)); }, Outcome::kNoAnswer, "busy"},
      {[&](uint64_t) { tests_.Lose(sender); }, Outcome::kNoAnswer, "no answer"},
      {[&](uint64_t test) {
         tests_.Hear(receiver, Done(test, 5e9));
         tests_.Tick(SimTime() + kLength + HostTestRuns::kPatience);
       },
       Outcome::kNoAnswer, "no answer"},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    const uint64_t test = BeginListening();
    cases[i].play(test);
    const std::vector<HostTestRuns::Ended> ended = tests_.TakeEnded();
    ASSERT_THAT(ended, SizeIs(1)) << i;
    EXPECT_EQ(ended[0].transfer.outcome, cases[i].outcome) << i;
    EXPECT_EQ(ended[0].transfer.error, cases[i].error) << i;
  }
}

TEST_F(HostTestRunsTest, AReceiverThatCannotListenEndsIt) {
  const uint64_t test = BeginTransfer();
  tests_.Hear(HostId(1), Done(test, 0, "a training job has connections on this host", true));
  const std::vector<HostTestRuns::Ended> ended = tests_.TakeEnded();
  ASSERT_THAT(ended, SizeIs(1));
  EXPECT_EQ(ended[0].transfer.outcome, Outcome::kNoAnswer);
}

TEST_F(HostTestRunsTest, AnAgentThatIsAwayOrTooOldIsNotWaitedFor) {
  Connect(1, false);
  BeginTransfer();
  EXPECT_THAT(Wanted(), IsEmpty());
  EXPECT_THAT(tests_.TakeEnded(), SizeIs(1));
  Connect(1, true);
  Connect(0, false);
  BeginListening();
  EXPECT_THAT(tests_.TakeEnded(), SizeIs(1)) << "its sender";
}

TEST_F(HostTestRunsTest, BurnInIsOfOneHost) {
  const uint64_t test = tests_.BeginBurnIn(SimTime(), HostId(2), kLength);
  const std::vector<HostTestWanted> wanted = Wanted();
  ASSERT_THAT(wanted, SizeIs(1));
  EXPECT_EQ(wanted[0].kind, HostTestKind::kBurnIn);
  HostTestDone done = Done(test);
  done.score = 512;
  done.symptoms = {{.symptom = model::HostSymptom::kGpuError, .device = 3, .text = "Xid 48"}};
  tests_.Hear(HostId(1), done);  // another one's
  EXPECT_THAT(tests_.TakeEnded(), IsEmpty());
  tests_.Hear(HostId(2), done);
  const std::vector<HostTestRuns::Ended> ended = tests_.TakeEnded();
  ASSERT_THAT(ended, SizeIs(1));
  EXPECT_EQ(ended[0].score, 512);
  ASSERT_THAT(ended[0].symptoms, SizeIs(1));
  EXPECT_EQ(ended[0].symptoms[0].host, HostId(2));
}

}  // namespace
}  // namespace fairlead::controller
