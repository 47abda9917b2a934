#include "agent/departure_moves.h"

#include <gtest/gtest.h>

#include "agent/agent_components_example.h"

namespace fairlead::agent {
namespace {

class DepartureMovesTest : public testing::Test {
 protected:
  DepartureMovesTest() { example_.outbox.SetWelcome(true); }

  const ConnectionTable::Connection& At(uint64_t number) const { return example_.connections.at(number); }
  std::vector<HostAction> TakeActions() { return example_.outbox.TakeActions(); }
  std::vector<uint16_t> TakeRefused() {
    std::vector<uint16_t> ports;
    for (const auto& refused : MessagesIn<controller::MoveRefused>(TakeActions())) ports.push_back(refused.port);
    return ports;
  }
  uint64_t Move(uint64_t number, uint16_t port) {
    moves_.Move(At(number), port);
    const auto orders = ActionsIn<SetRewrite>(TakeActions());
    EXPECT_EQ(orders.size(), 1u);
    return orders.empty() ? 0 : orders[0].ticket;
  }

  ComponentExample example_;
  RewriteOrders orders_{&example_.outbox};
  DepartureMoves moves_{{.port_rest = SimDuration(60'000'000'000)}, &example_.connections, &orders_, &example_.outbox};
};

TEST_F(DepartureMovesTest, OnlyTheNewestOrderCounts) {
  const uint64_t number = example_.AddOpen(7, 50'001);
  const uint64_t first = Move(number, 61'001);
  moves_.Move(At(number), 61'001);
  EXPECT_TRUE(TakeActions().empty()) << "it is under way";
  const uint64_t second = Move(number, 61'002);
  EXPECT_FALSE(moves_.Finish({.ticket = first, .error = {}}));
  EXPECT_EQ(At(number).kept.wire_port, 50'001);
  EXPECT_TRUE(moves_.Finish({.ticket = second, .error = {}}));
  EXPECT_EQ(At(number).kept.wire_port, 61'002);
  EXPECT_FALSE(moves_.Finish({.ticket = second, .error = {}}));
}

TEST_F(DepartureMovesTest, APortIsTakenBeforeAMoveAndWhileItRests) {
  const uint64_t first = example_.AddOpen(7, 50'001);
  const uint64_t second = example_.AddOpen(8, 50'002);
  EXPECT_TRUE(moves_.IsPortTaken(At(second), 50'001)) << "its socket's";
  EXPECT_FALSE(moves_.IsPortTaken(At(first), 50'001));
  const uint64_t ticket = Move(first, 61'001);
  EXPECT_TRUE(moves_.IsPortTaken(At(second), 61'001)) << "it will be on the wire";
  EXPECT_TRUE(moves_.Finish({.ticket = ticket, .error = {}}));
  EXPECT_TRUE(moves_.Finish({.ticket = Move(first, 61'002), .error = {}}));
  EXPECT_TRUE(moves_.IsPortTaken(At(second), 61'001)) << "it was";
  EXPECT_FALSE(moves_.IsPortTaken(At(first), 61'001)) << "by this one";
  moves_.Move(At(second), 61'001);
  EXPECT_EQ(TakeRefused(), std::vector<uint16_t>{61'001});
  ASSERT_EQ(moves_.State().size(), 1u);
  example_.Wait(60'000);
  moves_.EndRests();
  EXPECT_TRUE(moves_.State().empty());
  EXPECT_FALSE(moves_.IsPortTaken(At(second), 61'001));
}

TEST_F(DepartureMovesTest, PortsOfAConnectionThatEndsRest) {
  const uint64_t first = example_.AddOpen(7, 50'001);
  const uint64_t second = example_.AddOpen(8, 50'002);
  moves_.Finish({.ticket = Move(first, 61'001), .error = {}});
  const uint64_t ticket = Move(first, 61'002);
  moves_.Close(At(first));
  example_.connections.Remove(first);
  EXPECT_EQ(ActionsIn<ClearRewrite>(TakeActions()).size(), 1u);
  for (const uint16_t port : {61'001, 61'002}) EXPECT_TRUE(moves_.IsPortTaken(At(second), port)) << port;
  EXPECT_FALSE(moves_.IsPortTaken(At(second), 50'001)) << "its socket's never rests";
  EXPECT_FALSE(moves_.Finish({.ticket = ticket, .error = {}})) << "of a connection that is gone";
  // One that has never moved leaves nothing.
  moves_.Close(At(second));
  EXPECT_TRUE(TakeActions().empty());
}

// The state may say what was true before a boot.
TEST_F(DepartureMovesTest, OnlyWhatTheKernelRewritesIsInForce) {
  const uint64_t moved = example_.AddOpen(7, 50'001);
  const uint64_t lost = example_.AddOpen(8, 50'002);
  example_.connections.SetWirePort(lost, 61'002);
  const RewriteRule rule = {RewriteRule::Direction::kDeparture, ComponentExample::Here(), ComponentExample::There(),
                            50'001, ComponentExample::kServicePort};
  RewriteRule unknown = rule;
  unknown.from_port = 50'003;
  const RewriteRule arrival = {RewriteRule::Direction::kArrival, ComponentExample::There(), ComponentExample::Here(),
                               61'009, ComponentExample::kServicePort};
  moves_.Restore({}, {{rule, 61'001}, {unknown, 61'003}, {arrival, 51'000}});
  EXPECT_EQ(At(moved).kept.wire_port, 61'001);
  EXPECT_EQ(At(lost).kept.wire_port, 50'002);
  const auto cleared = ActionsIn<ClearRewrite>(TakeActions());
  ASSERT_EQ(cleared.size(), 1u);
  EXPECT_EQ(cleared[0].rule, unknown);
}

// The agent before has lost what it knew, and the kernel refuses to clear what it did.
TEST_F(DepartureMovesTest, ARuleThatStaysIsInForce) {
  const RewriteRule before = {RewriteRule::Direction::kDeparture, ComponentExample::Here(), ComponentExample::There(),
                              50'001, ComponentExample::kServicePort};
  RewriteRule after = before;
  after.from_port = 50'002;
  moves_.Restore({}, {{before, 61'001}, {after, 61'002}});
  const uint64_t opened_before = example_.AddOpen(7, 50'001);
  EXPECT_FALSE(moves_.TakeUp(At(opened_before))) << "it may be cleared by now";
  for (const auto& clear : ActionsIn<ClearRewrite>(TakeActions())) {
    EXPECT_EQ(orders_.Finish({.ticket = clear.ticket, .error = "no room"}), clear.rule);
  }
  EXPECT_EQ(moves_.TakeUp(before), &At(opened_before));
  EXPECT_EQ(At(opened_before).kept.wire_port, 61'001);
  EXPECT_EQ(moves_.TakeUp(after), nullptr) << "there is no connection yet";
  const uint64_t opened_after = example_.AddOpen(8, 50'002);
  EXPECT_TRUE(moves_.TakeUp(At(opened_after)));
  EXPECT_EQ(At(opened_after).kept.wire_port, 61'002);
  EXPECT_TRUE(moves_.IsPortTaken(At(opened_before), 61'002));
  EXPECT_EQ(orders_.NextDue(), SimTime::Never()) << "nothing is cleared any more";
}

}  // namespace
}  // namespace fairlead::agent
