#include "controller/port_moves.h"

#include <gtest/gtest.h>

#include "controller/traffic_components_example.h"
#include "traffic/source_ports.h"

namespace fairlead::controller {
namespace {

constexpr SimDuration kTimeout(2'000'000'000);
constexpr uint16_t kSocketPort = 40'000;

// A connection from host 0 to host 3, open at kSocketPort.
class PortMovesTest : public ::testing::Test {
 protected:
  PortMovesTest() {
    example_.Connect(0);
    example_.Connect(3);
    Open(6);
    while (!traffic::PortsFor(6, /*is_open=*/true).Contains(port_)) ++port_;
    time_.Advance(SimTime(1));
  }

  void Open(uint8_t protocol) {
    job_ = example_.AddJob(protocol == 6 ? "a" : "roce", ComponentExample::Request(5, 0, 3, protocol));
    example_.jobs.SetSocketPort({job_, 5, 0}, kSocketPort);
  }
  std::vector<TrafficOutput> Move(uint16_t port) {
    traffic::PathsMoved moved = {.host = HostId(0), .moves = {}};
    moved.moves.push_back({.job = job_, .connection = 5, .queue_pair = 0, .answer = Use(port)});
    EXPECT_TRUE(moves_.Carry(moved));
    example_.paths.answers[{job_, 5}] = {.connection = 5, .reason = "", .queue_pairs = {Use(port)}};
    return example_.outputs.Take();
  }
  static traffic::QueuePairAnswer Use(uint16_t port) {
    return {.kind = traffic::QueuePairAnswer::Kind::kUse, .plane = 0, .path = 0, .port = port, .epoch = 1};
  }
  std::vector<TrafficOutput> Prepared(const PrepareArrival& order, const std::string& error = "") {
    moves_.Hear(HostId(3), ArrivalPrepared{.alias = order.alias, .error = error});
    return example_.outputs.Take();
  }
  std::vector<TrafficOutput> Wait(SimDuration time) {
    time_.Advance(time_.clock() + time);
    moves_.Tick();
    return example_.outputs.Take();
  }
  uint16_t WirePort() const { return moves_.WirePortOf({job_, 5, 0}, kSocketPort); }

  ComponentExample example_;
  traffic::SteadyTime time_{SimDuration(100'000'000'000)};
  JobId job_;
  uint16_t port_ = 50'000;  // one that open sockets may have
  PortMoves moves_{{.fabric = example_.fabric,
                    .addresses = example_.addresses,
                    .paths = example_.paths,
                    .time = time_,
                    .jobs = example_.jobs},
                   kTimeout,
                   &example_.streams,
                   &example_.batch,
                   &example_.outputs};
};

TEST_F(PortMovesTest, TheSourceIsAskedWhenTheDestinationIsReady) {
  std::vector<TrafficOutput> outputs = Move(port_);
  const std::vector<PrepareArrival> orders = MessagesIn<PrepareArrival>(outputs);
  ASSERT_EQ(orders.size(), 1u);
  EXPECT_EQ(orders[0].socket_port, kSocketPort);
  EXPECT_EQ(orders[0].wire_port, port_);
  EXPECT_TRUE(MessagesIn<PathsChanged>(outputs).empty());
  EXPECT_EQ(WirePort(), kSocketPort) << "not yet";

  const std::vector<PathsChanged> changes = MessagesIn<PathsChanged>(Prepared(orders[0]));
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].changes.at(0).answer.port, port_);
  EXPECT_TRUE(changes[0].changes.at(0).is_prepared);
  EXPECT_EQ(WirePort(), port_);
  const PathBatch::Events events = example_.batch.Take();
  ASSERT_EQ(events.all.size(), 1u) << "the path service hears what is on the wire";
  EXPECT_EQ(std::get<traffic::QueuePairOpened>(events.all[0]).port, port_);

  moves_.Drop({job_, 5, 0});
  EXPECT_EQ(MessagesIn<ForgetArrival>(example_.outputs.Take()).size(), 1u);
}

TEST_F(PortMovesTest, SilenceLeavesTheSourceWhereItIsAndTheMoveIsRetried) {
  Move(port_);
  EXPECT_TRUE(Wait(kTimeout - SimDuration(1)).empty());
  std::vector<TrafficOutput> outputs = Wait(SimDuration(1));
  EXPECT_NE(OutputsIn<Noted>(outputs).at(0).text.find("it is tried again in 2 s"), std::string::npos);
  EXPECT_EQ(MessagesIn<PrepareArrival>(outputs).at(0).wire_port, kSocketPort) << "back to the port in force";
  EXPECT_EQ(WirePort(), kSocketPort);
  outputs = Wait(SimDuration(2'000'000'000));
  EXPECT_EQ(MessagesIn<PrepareArrival>(outputs).at(0).wire_port, port_);
  // The answers come at last: to the first order, to the one back, and to this one, which alone counts.
  const PrepareArrival last = MessagesIn<PrepareArrival>(outputs).at(0);
  EXPECT_TRUE(Prepared(last).empty());
  EXPECT_TRUE(Prepared(last).empty());
  EXPECT_EQ(MessagesIn<PathsChanged>(Prepared(last)).size(), 1u);
}

TEST_F(PortMovesTest, ErrorsAndRefusalsAreRetriedLaterEachTime) {
  const PrepareArrival order = MessagesIn<PrepareArrival>(Move(port_)).at(0);
  EXPECT_NE(OutputsIn<Noted>(Prepared(order, "no rules")).at(0).text.find("no rules; it is tried again in 2 s"),
            std::string::npos);
  const PrepareArrival again = MessagesIn<PrepareArrival>(Wait(SimDuration(2'000'000'000))).at(0);
  EXPECT_NE(OutputsIn<Noted>(Prepared(again, "no rules")).at(0).text.find("it is tried again in 4 s"),
            std::string::npos);
  const PrepareArrival third = MessagesIn<PrepareArrival>(Wait(SimDuration(4'000'000'000))).at(0);
  Prepared(third);
  EXPECT_EQ(WirePort(), port_);
  moves_.Hear(HostId(0), MoveRefused{.job = "a", .connection = 5, .port = port_, .reason = "taken"});
  EXPECT_EQ(WirePort(), kSocketPort);
  const std::vector<TrafficOutput> outputs = example_.outputs.Take();
  EXPECT_EQ(MessagesIn<PrepareArrival>(outputs).at(0).wire_port, kSocketPort);
  EXPECT_NE(OutputsIn<Noted>(outputs).at(0).text.find("taken; it is tried again in 8 s"), std::string::npos);
}

TEST_F(PortMovesTest, WithoutTheOtherEndNothingIsOrdered) {
  example_.streams.End(StreamId(3u));
  moves_.LoseOrders(HostId(3));
  const std::vector<TrafficOutput> outputs = Move(port_);
  EXPECT_TRUE(MessagesIn<PrepareArrival>(outputs).empty());
  EXPECT_NE(OutputsIn<Noted>(outputs).at(0).text.find("an agent is away"), std::string::npos);
  example_.Connect(3);
  moves_.Renew(HostId(3));
  const std::vector<PrepareArrival> orders = MessagesIn<PrepareArrival>(example_.outputs.Take());
  ASSERT_EQ(orders.size(), 2u);
  EXPECT_EQ(orders[0].wire_port, kSocketPort) << "what it may have forgotten";
  EXPECT_EQ(orders[1].wire_port, port_) << "and what is wanted";
}

// Its packets arrive with a port that the socket does not know, for as long as the destination rewrites nothing.
TEST_F(PortMovesTest, TheDestinationOfAPortInForceIsAskedAgainAfterAnError) {
  example_.paths.answers[{job_, 5}] = {.connection = 5, .reason = "", .queue_pairs = {Use(port_)}};
  const LiveConnection& connection = *example_.jobs.FindConnection(job_, HostId(0), 5);
  moves_.TakeHeldPort({job_, 5, 0}, connection, {.is_managed = true, .port = port_});
  EXPECT_EQ(WirePort(), port_);
  const PrepareArrival order = MessagesIn<PrepareArrival>(example_.outputs.Take()).at(0);
  Prepared(order, "no rules");
  const std::vector<PrepareArrival> again = MessagesIn<PrepareArrival>(Wait(SimDuration(2'000'000'000)));
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].wire_port, port_);
  Prepared(again[0]);
  EXPECT_TRUE(Wait(SimDuration(100'000'000'000)).empty()) << "it is rewritten now";
}

TEST_F(PortMovesTest, AfterAnErrorOfAMoveThePortInForceIsOrderedToo) {
  Prepared(MessagesIn<PrepareArrival>(Move(port_)).at(0));
  ASSERT_EQ(WirePort(), port_);
  uint16_t next = port_ + 1;
  while (!traffic::PortsFor(6, /*is_open=*/true).Contains(next)) ++next;
  Move(next);
  moves_.LoseOrders(HostId(3));
  moves_.Renew(HostId(3));  // both are ordered of a destination that may have forgotten them
  const std::vector<PrepareArrival> orders = MessagesIn<PrepareArrival>(example_.outputs.Take());
  ASSERT_EQ(orders.size(), 2u);
  for (const PrepareArrival& order : orders) Prepared(order, "no rules");
  const std::vector<PrepareArrival> again = MessagesIn<PrepareArrival>(Wait(SimDuration(2'000'000'000)));
  ASSERT_EQ(again.size(), 2u);
  EXPECT_EQ(again[0].wire_port, port_);
  EXPECT_EQ(again[1].wire_port, next);
}

TEST_F(PortMovesTest, OthersDoNotAnswerForAnArrival) {
  const PrepareArrival order = MessagesIn<PrepareArrival>(Move(port_)).at(0);
  moves_.Hear(HostId(2), ArrivalPrepared{.alias = order.alias, .error = ""});
  EXPECT_EQ(OutputsIn<Noted>(example_.outputs.Take()).size(), 1u);
  moves_.Hear(HostId(2), MoveRefused{.job = "a", .connection = 5, .port = port_, .reason = ""});
  EXPECT_EQ(OutputsIn<Noted>(example_.outputs.Take()).size(), 1u);
  EXPECT_EQ(WirePort(), kSocketPort);
}

TEST_F(PortMovesTest, AnOpenQueuePairOfRoceStays) {
  Open(17);
  const std::vector<TrafficOutput> outputs = Move(port_);
  EXPECT_TRUE(MessagesIn<PrepareArrival>(outputs).empty());
  EXPECT_EQ(MessagesIn<PathsChanged>(outputs).size(), 1u) << "its agent is told, for the next one of this name";
  EXPECT_NE(OutputsIn<Noted>(outputs).at(0).text.find("can't be moved from outside"), std::string::npos);
}

}  // namespace
}  // namespace fairlead::controller
