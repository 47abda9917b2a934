#include "agent/arrival_table.h"

#include <gtest/gtest.h>

#include <variant>

namespace fairlead::agent {
namespace {

class ArrivalTableTest : public testing::Test {
 protected:
  static SimTime At(double seconds) { return SimTime::FromSeconds(Seconds(seconds)); }

  static inline const IpAddress kThere = IpAddress::FromIpv4(1);
  static inline const IpAddress kHere = IpAddress::FromIpv4(2);
  static constexpr uint16_t kSocketPort = 50'000;
  static constexpr uint16_t kServicePort = 5'000;

  ArrivalTableTest() { outbox_.SetWelcome(true); }

  void Prepare(uint64_t number, uint16_t wire_port, uint16_t socket_port = kSocketPort) {
    table_.Prepare({.alias = number,
                    .source = kThere,
                    .destination = kHere,
                    .protocol = 6,
                    .destination_port = kServicePort,
                    .socket_port = socket_port,
                    .wire_port = wire_port},
                   sockets_);
  }
  // What was sent and ordered since the last call.
  struct Seen {
    std::vector<std::string> errors;  // of ArrivalPrepared
    std::vector<uint64_t> tickets;    // of rules that were set
    std::vector<uint16_t> cleared;    // ports
  };
  Seen TakeSeen() {
    Seen seen;
    for (const HostAction& action : outbox_.TakeActions()) {
      if (const auto* set = std::get_if<SetRewrite>(&action)) seen.tickets.push_back(set->ticket);
      if (const auto* clear = std::get_if<ClearRewrite>(&action)) seen.cleared.push_back(clear->rule.from_port);
      const auto* sent = std::get_if<SendToController>(&action);
      if (sent == nullptr) continue;
      seen.errors.push_back(std::get<controller::ArrivalPrepared>(sent->message).error);
    }
    return seen;
  }
  void Finish(uint64_t ticket, const std::string& error = "") {
    EXPECT_TRUE(table_.Finish({.ticket = ticket, .error = error}));
  }

  AgentOutbox outbox_{At(0)};
  RewriteOrders orders_{&outbox_};
  ArrivalTable::Sockets sockets_ = {{{kHere, kThere, kServicePort, kSocketPort}, 77}};
  ArrivalTable table_{{.nics = {kHere}, .linger = SimDuration(5'000'000'000), .num_max = 3}, &outbox_, &orders_};
};

TEST_F(ArrivalTableTest, AnswersComeInTheOrderOfTheMessages) {
  Prepare(1, 61'000);
  Prepare(1, 61'001);
  Prepare(1, 0);  // refused at once, but not before the others are done
  const Seen seen = TakeSeen();
  ASSERT_EQ(seen.tickets.size(), 2u);
  EXPECT_TRUE(seen.errors.empty());
  Finish(seen.tickets[1]);
  EXPECT_TRUE(TakeSeen().errors.empty());
  Finish(seen.tickets[0], "no room");
  EXPECT_EQ(TakeSeen().errors, (std::vector<std::string>{"no room", "", "a port is 0"}));
}

TEST_F(ArrivalTableTest, OlderPortsStayButForTheOldestOfMany) {
  for (uint16_t port = 61'000; port < 61'012; ++port) {
    Prepare(1, port);
    for (const uint64_t ticket : TakeSeen().tickets) Finish(ticket);
  }
  outbox_.SetTime(At(4.9));
  table_.DropOldPorts();
  EXPECT_TRUE(TakeSeen().cleared.empty());
  EXPECT_EQ(table_.NextDue(), At(5));
  outbox_.SetTime(At(5));
  table_.DropOldPorts();
  // The latest, and eight before it, are left.
  EXPECT_EQ(TakeSeen().cleared, (std::vector<uint16_t>{61'000, 61'001, 61'002}));
  EXPECT_EQ(table_.State()[0].wire_ports.size(), 9u);
}

TEST_F(ArrivalTableTest, PacketsOfAPortBelongToWhomItWasGivenLast) {
  Prepare(1, 61'000);
  Prepare(2, 61'000, kSocketPort + 1);
  TakeSeen();
  table_.Forget({.alias = 1});
  table_.Look(At(1), {});
  EXPECT_TRUE(TakeSeen().cleared.empty());  // the rule is the other's now
  table_.Forget({.alias = 2});
  table_.Look(At(1), {});
  EXPECT_EQ(TakeSeen().cleared, std::vector<uint16_t>{61'000});
  EXPECT_EQ(table_.size(), 0u);
}

TEST_F(ArrivalTableTest, AnArrivalStaysWhileItsSocketIsThere) {
  Prepare(1, 61'000);
  table_.Forget({.alias = 1});
  EXPECT_EQ(table_.size(), 1u);
  table_.Look(At(0), {});
  EXPECT_EQ(table_.size(), 1u) << "it may have been opened since";
  table_.Look(At(100), sockets_);
  EXPECT_EQ(table_.size(), 1u);
  TakeSeen();
  table_.Look(At(101), {});
  EXPECT_EQ(table_.size(), 0u);
  EXPECT_EQ(TakeSeen().cleared, std::vector<uint16_t>{61'000});
}

TEST_F(ArrivalTableTest, ASocketThatWasNeverSeenIsWaitedFor) {
  Prepare(1, 61'000);
  table_.Look(At(9.9), {});
  EXPECT_EQ(table_.size(), 1u);
  table_.Look(At(10.1), {});
  EXPECT_EQ(table_.size(), 0u);
}

TEST_F(ArrivalTableTest, APortThatTheKernelRefusesIsForgottenUnlessItWasInForce) {
  Prepare(1, 61'000);
  Finish(TakeSeen().tickets[0], "no room");
  EXPECT_TRUE(table_.State()[0].wire_ports.empty());
  Prepare(1, 61'001);
  Finish(TakeSeen().tickets[0]);
  Prepare(1, 61'001);
  Finish(TakeSeen().tickets[0], "no room");
  EXPECT_EQ(table_.State()[0].wire_ports, std::vector<uint16_t>{61'001});
}

TEST_F(ArrivalTableTest, WhatCannotBeRewrittenIsRefused) {
  Prepare(1, kSocketPort);
  EXPECT_EQ(TakeSeen().errors, std::vector<std::string>{""});  // nothing to rewrite
  sockets_[{kHere, kThere, kServicePort, 61'000}] = 78;
  Prepare(1, 61'000);
  EXPECT_EQ(TakeSeen().errors, std::vector<std::string>{"another connection from there has port 61000"});
  Prepare(2, 61'001);
  Prepare(3, 61'002);
  TakeSeen();
  Prepare(4, 61'003);
  EXPECT_EQ(TakeSeen().errors, std::vector<std::string>{"this host rewrites for as many connections as it can"});
}

// The disk was full when the port was given to another socket.
TEST_F(ArrivalTableTest, WhatTheKernelDoesIsNewerThanWhatWasKept) {
  const RewriteRule rule = {.direction = RewriteRule::Direction::kArrival,
                            .source = kThere,
                            .destination = kHere,
                            .from_port = 61'000,
                            .destination_port = kServicePort};
  orders_.Inherit(rule, 40'000);
  const KeptAlias kept = {.alias = 1,
                          .source = kThere,
                          .destination = kHere,
                          .destination_port = kServicePort,
                          .socket_port = kSocketPort,
                          .wire_ports = {61'000}};
  table_.Restore({&kept, 1});
  EXPECT_TRUE(TakeSeen().tickets.empty());
  ASSERT_EQ(table_.State().size(), 1u);
  EXPECT_TRUE(table_.State()[0].wire_ports.empty());
}

TEST_F(ArrivalTableTest, TheNextAgentSetsWhatWasKept) {
  Prepare(1, 61'000);
  Prepare(1, 61'001);
  AgentOutbox outbox(At(50));
  RewriteOrders orders(&outbox);
  ArrivalTable next({.nics = {kHere}, .linger = SimDuration(5'000'000'000), .num_max = 3}, &outbox, &orders);
  next.Restore(table_.State());
  EXPECT_EQ(next.State(), table_.State());
  EXPECT_EQ(outbox.TakeActions().size(), 2u);
}

}  // namespace
}  // namespace fairlead::agent
