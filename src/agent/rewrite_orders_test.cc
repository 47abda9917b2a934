#include "agent/rewrite_orders.h"

#include <gtest/gtest.h>

#include <variant>

namespace fairlead::agent {
namespace {

class RewriteOrdersTest : public testing::Test {
 protected:
  static SimTime At(double seconds) { return SimTime::FromSeconds(Seconds(seconds)); }

  static RewriteRule Rule(uint16_t port) {
    return {.direction = RewriteRule::Direction::kArrival,
            .source = IpAddress::FromIpv4(1),
            .destination = IpAddress::FromIpv4(2),
            .from_port = port,
            .destination_port = 5000};
  }
  // Tickets of the rules that are to be cleared, of all actions since the last call.
  std::vector<uint64_t> Cleared() {
    std::vector<uint64_t> tickets;
    for (const HostAction& action : outbox_.TakeActions()) {
      if (const auto* clear = std::get_if<ClearRewrite>(&action)) tickets.push_back(clear->ticket);
    }
    return tickets;
  }

  AgentOutbox outbox_{At(0)};
  RewriteOrders orders_{&outbox_};
};

TEST_F(RewriteOrdersTest, WhatTheKernelRefusesToClearIsClearedAgainUntilItIsDone) {
  orders_.Clear(Rule(1));
  const auto first = Cleared();
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(orders_.NextDue(), SimTime::Never());
  orders_.Finish({.ticket = first[0], .error = "no room"});
  EXPECT_EQ(orders_.NextDue(), At(1));
  outbox_.SetTime(At(0.9));
  orders_.Repeat();
  EXPECT_TRUE(Cleared().empty());
  outbox_.SetTime(At(1));
  orders_.Repeat();
  const auto second = Cleared();
  ASSERT_EQ(second.size(), 1u);
  EXPECT_NE(second[0], first[0]);
  orders_.Finish({.ticket = second[0], .error = ""});
  EXPECT_EQ(orders_.NextDue(), SimTime::Never());
  outbox_.SetTime(At(100));
  orders_.Repeat();
  EXPECT_TRUE(Cleared().empty());
}

TEST_F(RewriteOrdersTest, ARuleThatIsSetAgainIsNotCleared) {
  orders_.Clear(Rule(1));
  orders_.Clear(Rule(2));
  const auto tickets = Cleared();
  orders_.Finish({.ticket = tickets[0], .error = "no room"});
  orders_.Set(Rule(1), 5001);  // after the failure
  orders_.Set(Rule(2), 5001);  // before it
  orders_.Finish({.ticket = tickets[1], .error = "no room"});
  EXPECT_EQ(orders_.NextDue(), SimTime::Never());
  outbox_.SetTime(At(10));
  orders_.Repeat();
  EXPECT_TRUE(Cleared().empty());
}

TEST_F(RewriteOrdersTest, ARuleThatStaysCanBeTakenUp) {
  orders_.Clear(Rule(1), 61'001);
  orders_.Clear(Rule(2), 61'002);
  const auto tickets = Cleared();
  EXPECT_EQ(orders_.TakeUp(Rule(1)), std::nullopt) << "the kernel has not refused yet";
  EXPECT_EQ(orders_.Finish({.ticket = tickets[0], .error = "no room"}), Rule(1));
  EXPECT_EQ(orders_.Finish({.ticket = tickets[1], .error = ""}), std::nullopt);
  outbox_.SetTime(At(1));
  orders_.Repeat();
  const auto again = Cleared();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(orders_.TakeUp(Rule(1)), std::nullopt) << "it may be cleared by now";
  EXPECT_EQ(orders_.Finish({.ticket = again[0], .error = "no room"}), Rule(1));
  EXPECT_EQ(orders_.TakeUp(Rule(1)), 61'001);
  EXPECT_EQ(orders_.TakeUp(Rule(1)), std::nullopt);
  EXPECT_EQ(orders_.TakeUp(Rule(2)), std::nullopt);
  outbox_.SetTime(At(10));
  orders_.Repeat();
  EXPECT_TRUE(Cleared().empty());
}

TEST_F(RewriteOrdersTest, AMoveBackIsNotRepeated) {
  const uint64_t ticket = orders_.ClearOnce(Rule(1));
  EXPECT_EQ(Cleared(), std::vector{ticket});
  orders_.Finish({.ticket = ticket, .error = "no room"});
  EXPECT_EQ(orders_.NextDue(), SimTime::Never());
}

TEST_F(RewriteOrdersTest, WhatIsClearedIsNoLongerInherited) {
  orders_.Inherit(Rule(1), 5001);
  EXPECT_TRUE(orders_.IsInherited(Rule(1), 5001));
  EXPECT_FALSE(orders_.IsInherited(Rule(1), 5002));
  orders_.Clear(Rule(1));
  EXPECT_FALSE(orders_.IsInherited(Rule(1), 5001));
}

}  // namespace
}  // namespace fairlead::agent
