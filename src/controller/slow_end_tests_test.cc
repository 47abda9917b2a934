#include "controller/slow_end_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "controller/host_testing.h"
#include "controller/traffic_components_example.h"

namespace fairlead::controller {
namespace {

using node_check::SlowEnd;
using testing::IsEmpty;
using testing::SizeIs;

// Six hosts whose agents answer at once; a job hangs on the first four.
class SlowEndTestsTest : public testing::Test {
 protected:
  SlowEndTestsTest() {
    for (uint32_t host = 0; host < 6; ++host) Connect(host);
  }
  void Connect(uint32_t host) {
    HostHello hello = example_.Hello(host);
    hello.can_test = true;
    example_.streams.Bind(StreamId(host), HostId(host), hello, SimTime());
    example_.outputs.Take();
  }
  static SlowEndQuestion Question() {
    return {.finding = model::FindingId(6),
            .sender = HostId(1),
            .receiver = HostId(2),
            .sender_nic = NicId(1),
            .receiver_nic = NicId(2),
            .bystanders = {HostId(0u), HostId(3)}};
  }
  // Until there is an answer.
  std::optional<SlowEndAnswer> Ask(const SlowEndQuestion& question) {
    testing_.Ask(now_, question);
    for (int i = 0; i < 200; ++i) {
      testing_.Tick(now_, now_);
      for (const TrafficOutput& output : example_.outputs.Take()) {
        if (const auto* answer = std::get_if<SlowEndAnswer>(&output)) return *answer;
        const auto* sent = std::get_if<SendToStream>(&output);
        if (sent == nullptr) continue;
        if (const auto* wanted = std::get_if<HostTestWanted>(&sent->message)) {
          Answer(HostId(sent->stream.value()), *wanted);
        }
      }
      now_ = now_ + SimDuration(1'000'000'000);
    }
    return std::nullopt;
  }
  void Answer(HostId host, const HostTestWanted& wanted) {
    EXPECT_TRUE(wanted.despite_jobs);
    EXPECT_EQ(wanted.rate_max, 0);
    tested_.insert(host);
    if (silent_.contains(host.value())) return;
    HostTestDone done;
    done.test = wanted.test;
    if (wanted.kind == HostTestKind::kReceive) {
      testing_.Hear(host, HostTestReady{.test = wanted.test, .port = 4000});
      done.rate = receives_.contains(host.value()) ? receives_[host.value()] : 1e9;
      const uint32_t sender = HostOf(wanted.peer);
      if (sends_.contains(sender)) done.rate = std::min(done.rate, sends_[sender]);
    }
    testing_.Hear(host, done);
  }

  ComponentExample example_;
  HostTesting testing_{example_.fabric, example_.addresses, example_.jobs, 1, &example_.streams, &example_.outputs};
  std::map<uint32_t, double> sends_;
  std::map<uint32_t, double> receives_;
  std::set<uint32_t> silent_;
  std::set<HostId> tested_;
  SimTime now_;
};

TEST_F(SlowEndTestsTest, TheEndIsNamedWithItsShare) {
  receives_[2] = 2e8;
  const auto answer = Ask(Question());
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->finding, model::FindingId(6));
  EXPECT_EQ(answer->end, SlowEnd::kReceiver);
  EXPECT_DOUBLE_EQ(answer->receiver_share, 0.2);
  EXPECT_DOUBLE_EQ(answer->sender_share, 1);
  EXPECT_EQ(tested_, (std::set<HostId>{HostId(0u), HostId(1), HostId(2), HostId(3)})) << "hosts of the job first";
}

TEST_F(SlowEndTestsTest, FreeHostsStandInAndThoseOfJobsDoNot) {
  example_.AddJob("other", example_.Request(9, 4, 5));  // holds something on host 4
  SlowEndQuestion question = Question();
  question.bystanders = {HostId(0u)};
  const auto answer = Ask(question);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->end, SlowEnd::kNeither);
  EXPECT_EQ(tested_, (std::set<HostId>{HostId(0u), HostId(1), HostId(2), HostId(3)}));
  EXPECT_FALSE(tested_.contains(HostId(4)));
}

TEST_F(SlowEndTestsTest, WhatCannotBeTestedIsUndecidedAtOnce) {
  example_.streams.End(StreamId(2));
  const auto answer = Ask(Question());
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->end, SlowEnd::kUndecided);
  EXPECT_THAT(tested_, IsEmpty());
}

TEST_F(SlowEndTestsTest, AnAgentThatSaysNothingLeavesItUndecided) {
  silent_ = {1};
  const auto answer = Ask(Question());
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->end, SlowEnd::kUndecided);
}

TEST_F(SlowEndTestsTest, HostsAreInOneTestAtATime) {
  testing_.Ask(now_, Question());
  NodeCheckRequest request;
  request.number = 1;
  request.hosts = {HostId(1)};
  EXPECT_EQ(testing_.checks().FindFault(request), "host h1 is being tested");
  SlowEndQuestion other = Question();
  other.finding = model::FindingId(7);
  example_.outputs.Take();
  testing_.Ask(now_, other);
  const auto answers = OutputsIn<SlowEndAnswer>(example_.outputs.Take());
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_EQ(answers[0].end, SlowEnd::kUndecided);
}

}  // namespace
}  // namespace fairlead::controller
