#include "agent/host_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace fairlead::agent {
namespace {

using controller::HostTestDone;
using controller::HostTestKind;
using controller::HostTestWanted;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class HostTestsTest : public testing::Test {
 protected:
  HostTestsTest() { outbox_.SetWelcome(true); }

  static HostTestWanted Wanted(uint64_t test) {
    return {.test = test,
            .kind = HostTestKind::kReceive,
            .local = kHere,
            .peer = kThere,
            .num_streams = 1,
            .length = SimDuration(1'000'000'000)};
  }
  static HostTestDone Done(uint64_t test, const std::string& error) {
    HostTestDone done;
    done.test = test;
    done.error = error;
    return done;
  }
  // Of the kind, in order.
  template <class Message>
  std::vector<Message> Sent() {
    std::vector<Message> sent;
    for (HostAction& action : outbox_.TakeActions()) {
      auto* message = std::get_if<SendToController>(&action);
      if (message != nullptr && std::holds_alternative<Message>(message->message)) {
        sent.push_back(std::get<Message>(message->message));
      }
    }
    return sent;
  }

  static inline const IpAddress kHere = IpAddress::FromIpv4(0x0a000001);
  static inline const IpAddress kThere = IpAddress::FromIpv4(0x0a000002);
  AgentOutbox outbox_{SimTime()};
  TrainingAddresses addresses_{{kHere}, SimDuration(1)};
  HostTests tests_{&addresses_, &outbox_};
};

TEST_F(HostTestsTest, ATestIsRunAndItsResultReported) {
  tests_.Take(Wanted(7), false);
  const std::vector<HostAction> actions = outbox_.TakeActions();
  ASSERT_THAT(actions, SizeIs(1));
  EXPECT_EQ(std::get<RunHostTest>(actions[0]).wanted, Wanted(7));
  tests_.Take(HostTestListens{7, 4000});
  EXPECT_THAT(Sent<controller::HostTestReady>(), ElementsAre(controller::HostTestReady{.test = 7, .port = 4000}));
  HostTestDone done;
  done.test = 7;
  done.rate = 5e9;
  tests_.Take(HostTestEnded{done});
  EXPECT_THAT(Sent<HostTestDone>(), ElementsAre(done));
  // Once.
  tests_.Take(HostTestEnded{done});
  EXPECT_THAT(Sent<HostTestDone>(), IsEmpty());
}

TEST_F(HostTestsTest, WhatMustNotRunIsRefusedWithAReason) {
  const std::vector<std::function<void(HostTestWanted*)>> faults = {
      [](HostTestWanted* wanted) { wanted->test = 0; },
      [](HostTestWanted* wanted) { wanted->local = kThere; },
      [](HostTestWanted* wanted) { wanted->peer = kHere; },
      [](HostTestWanted* wanted) { wanted->peer = IpAddress(); },
      [](HostTestWanted* wanted) { wanted->num_streams = 0; },
      [](HostTestWanted* wanted) { wanted->num_streams = controller::kTestStreamsMax + 1; },
      [](HostTestWanted* wanted) { wanted->length = controller::kTestLengthMax + SimDuration(1); },
      [](HostTestWanted* wanted) { wanted->kind = HostTestKind::kSend; },
      [](HostTestWanted* wanted) { wanted->port = 80; },
  };
  for (size_t i = 0; i < faults.size(); ++i) {
    HostTestWanted wanted = Wanted(1);
    faults[i](&wanted);
    tests_.Take(wanted, false);
    const std::vector<HostTestDone> refused = Sent<HostTestDone>();
    ASSERT_THAT(refused, SizeIs(1)) << i;
    EXPECT_EQ(refused[0].test, wanted.test);
    EXPECT_NE(refused[0].error, "") << i;
    EXPECT_TRUE(refused[0].is_refused);
  }
  tests_.Take(Wanted(1), false);
  tests_.Take(Wanted(1), false);
  EXPECT_THAT(Sent<HostTestDone>(), SizeIs(1)) << "the number is taken";
  for (uint64_t test = 2; test <= HostTests::kRunningMax + 1; ++test) tests_.Take(Wanted(test), false);
  EXPECT_THAT(Sent<HostTestDone>(), SizeIs(1)) << "one too many";
}

TEST_F(HostTestsTest, TrainingIsNotDisturbedUnlessTheControllerSaysSo) {
  HostTestWanted wanted = Wanted(1);
  tests_.Take(wanted, true);
  EXPECT_THAT(Sent<HostTestDone>(), SizeIs(1));
  wanted.despite_jobs = true;
  tests_.Take(wanted, true);
  EXPECT_THAT(Sent<HostTestDone>(), IsEmpty());
}

TEST_F(HostTestsTest, WhatTheHostReportsMeanwhileComesWithTheNextResult) {
  const std::vector<model::HostSymptomRecord> symptoms = {
      {.symptom = model::HostSymptom::kGpuLost, .device = 0, .text = "Xid 79"}};
  tests_.AddSymptoms(symptoms);  // before: of no interest
  tests_.Take(Wanted(1), false);
  tests_.AddSymptoms(symptoms);
  tests_.Take(HostTestEnded{Done(1, "")});
  const std::vector<HostTestDone> done = Sent<HostTestDone>();
  ASSERT_THAT(done, SizeIs(1));
  EXPECT_EQ(done[0].symptoms, symptoms);
  for (size_t i = 0; i < 2 * controller::kSymptomsMax; ++i) tests_.AddSymptoms(symptoms);
  tests_.Take(Wanted(2), false);
  for (size_t i = 0; i < 2 * controller::kSymptomsMax; ++i) tests_.AddSymptoms(symptoms);
  tests_.Take(HostTestEnded{Done(2, std::string(5000, 'x'))});
  const std::vector<HostTestDone> bounded = Sent<HostTestDone>();
  ASSERT_THAT(bounded, SizeIs(1));
  EXPECT_THAT(bounded[0].symptoms, SizeIs(controller::kSymptomsMax));
  EXPECT_THAT(bounded[0].error, SizeIs(controller::kSymptomBytesMax));
}

TEST_F(HostTestsTest, TheEndOfTheStreamEndsAllTests) {
  tests_.Cancel();
  EXPECT_THAT(outbox_.TakeActions(), IsEmpty());
  tests_.Take(Wanted(1), false);
  outbox_.TakeActions();
  tests_.Cancel();
  const std::vector<HostAction> actions = outbox_.TakeActions();
  ASSERT_THAT(actions, SizeIs(1));
  EXPECT_TRUE(std::holds_alternative<StopHostTests>(actions[0]));
  tests_.Take(HostTestListens{1, 4000});
  tests_.Take(HostTestEnded{Done(1, "")});
  EXPECT_THAT(outbox_.TakeActions(), IsEmpty());
}

}  // namespace
}  // namespace fairlead::agent
