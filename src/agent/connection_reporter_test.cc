#include "agent/connection_reporter.h"

#include <gtest/gtest.h>

#include "agent/agent_components_example.h"

namespace fairlead::agent {
namespace {

class ConnectionReporterTest : public testing::Test {
 protected:
  ConnectionReporterTest() { example_.outbox.SetWelcome(true); }

  const ConnectionTable::Connection& At(uint64_t number) const { return example_.connections.at(number); }
  template <class T>
  std::vector<T> TakeSent() {
    return MessagesIn<T>(example_.outbox.TakeActions());
  }
  // Connections for which a path was wanted since the last call.
  std::vector<uint64_t> TakeAsked() {
    std::vector<uint64_t> numbers;
    for (const auto& wanted : TakeSent<controller::PathsWanted>()) {
      for (const controller::WantedConnection& connection : wanted.connections) {
        numbers.push_back(connection.connection);
      }
    }
    return numbers;
  }

  ComponentExample example_;
  ConnectionReporter reporter_{/*keeps_state=*/true, &example_.connections, &example_.outbox};
};

TEST_F(ConnectionReporterTest, OfARewrittenPortTheControllerIsToldAtOnceWhereNoStateIsKept) {
  ConnectionReporter reporter(/*keeps_state=*/false, &example_.connections, &example_.outbox);
  const uint64_t number = example_.AddOpen(7, 50'001);
  example_.connections.SetWirePort(number, 61'001);
  reporter.ReportOpened(At(number));
  const auto held = TakeSent<controller::ConnectionsHeld>();
  ASSERT_EQ(held.size(), 1u);
  EXPECT_EQ(held[0].connections.at(0).queue_pairs.at(0).port, 61'001);
  EXPECT_EQ(held[0].connections.at(0).socket_ports.at(0), 50'001);
}

TEST_F(ConnectionReporterTest, APathIsAskedForOnceOnEachStream) {
  const uint64_t first = example_.Add(7);
  reporter_.Ask(At(first));
  EXPECT_EQ(TakeAsked(), std::vector<uint64_t>{first});
  reporter_.AskAgain();
  EXPECT_TRUE(TakeAsked().empty());
  example_.AddOpen(8);  // it has a plan
  reporter_.ForgetStream();
  reporter_.AskAgain();
  EXPECT_EQ(TakeAsked(), std::vector<uint64_t>{first});
  // Without a controller nothing is asked, and all of it when it is back.
  example_.outbox.SetWelcome(false);
  reporter_.ForgetStream();
  const uint64_t second = example_.Add(9, "other");
  reporter_.Ask(At(second));
  EXPECT_TRUE(TakeAsked().empty());
  example_.outbox.SetWelcome(true);
  reporter_.AskAgain();
  EXPECT_EQ(TakeAsked(), (std::vector<uint64_t>{first, second})) << "by job";
}

TEST_F(ConnectionReporterTest, OneWithoutAPlanIsNotReportedOpen) {
  const uint64_t number = example_.Add(7);
  example_.connections.Open(number, 50'001);
  reporter_.ReportOpened(At(number));
  reporter_.TakeKept(example_.outbox.revision());
  EXPECT_TRUE(TakeSent<controller::ConnectionOpened>().empty());
  example_.connections.SetPlan(number, ComponentExample::Use(50'007));
  reporter_.ReportOpened(At(number));
  reporter_.TakeKept(example_.outbox.revision() - 1);
  EXPECT_TRUE(TakeSent<controller::ConnectionOpened>().empty()) << "the next agent would not know it";
  reporter_.TakeKept(example_.outbox.revision());
  EXPECT_EQ(TakeSent<controller::ConnectionOpened>(),
            (std::vector<controller::ConnectionOpened>{{"gpt", number, 0, 50'001}}));
}

// The kernel's rules are newer than the state that was kept.
TEST_F(ConnectionReporterTest, OneThatIsRewrittenIsAnnouncedInstead) {
  const uint64_t number = example_.AddOpen(7, 50'001);
  reporter_.ReportOpened(At(number));
  example_.connections.SetWirePort(number, 61'001);
  reporter_.TakeKept(example_.outbox.revision());
  const auto held = TakeSent<controller::ConnectionsHeld>();
  ASSERT_EQ(held.size(), 1u);
  ASSERT_EQ(held[0].connections.size(), 1u);
  EXPECT_EQ(held[0].connections[0].queue_pairs[0].port, 61'001);
  EXPECT_EQ(held[0].connections[0].socket_ports[0], 50'001);
}

TEST_F(ConnectionReporterTest, JobsThatEndedWhileItWasAwayAreToldUnlessTheyAreBack) {
  reporter_.KeepEnded("gone");
  reporter_.KeepEnded("gpt");
  reporter_.Ask(At(example_.Add(7, "gpt")));
  example_.outbox.TakeActions();
  reporter_.ReportEnded();
  EXPECT_EQ(TakeSent<controller::ConnectionsClosed>(), (std::vector<controller::ConnectionsClosed>{{"gone", {}}}));
  reporter_.ReportEnded();
  EXPECT_TRUE(TakeSent<controller::ConnectionsClosed>().empty()) << "once";
}

}  // namespace
}  // namespace fairlead::agent
