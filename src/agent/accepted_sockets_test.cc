#include "agent/accepted_sockets.h"

#include <gtest/gtest.h>

#include <variant>

namespace fairlead::agent {
namespace {

class AcceptedSocketsTest : public testing::Test {
 protected:
  static SimTime At(double seconds) { return SimTime::FromSeconds(Seconds(seconds)); }

  static SeenSocket Socket(uint64_t inode, double sent = 0, double received = 0) {
    return {.ends = {IpAddress::FromIpv4(2), IpAddress::FromIpv4(1), 5000, static_cast<uint16_t>(40'000 + inode)},
            .inode = inode,
            .bytes_acked = sent,
            .bytes_received = received};
  }
  void Look(double at, const std::vector<SeenSocket>& seen, bool takes = true) {
    AcceptedSockets::ByInode by_inode;
    for (const SeenSocket& socket : seen) by_inode.emplace(socket.inode, &socket);
    sockets_.Look(At(at), by_inode, [&](const auto& accepted, const SocketPair&) {
      if (takes) held_.push_back(accepted.kept.inode);
      return takes;
    });
  }
  // Inodes whose class was set since the last call.
  std::vector<uint64_t> Classified() {
    std::vector<uint64_t> inodes;
    for (const HostAction& action : outbox_.TakeActions()) {
      if (const auto* set = std::get_if<SetSocketClass>(&action)) inodes.push_back(set->inode);
    }
    return inodes;
  }

  JobLevels levels_ = {{"gpt", 2}};
  AgentOutbox outbox_{At(0)};
  AcceptedSockets sockets_{3, &levels_, &outbox_};
  std::vector<uint64_t> held_;
};

TEST_F(AcceptedSocketsTest, ASocketGetsItsClassOnceAndWhenTheLevelChanges) {
  sockets_.Add({.job = "gpt", .pid = 1, .inode = 7});
  EXPECT_TRUE(Classified().empty());  // not before it is seen
  Look(1, {Socket(7)});
  EXPECT_EQ(Classified(), std::vector<uint64_t>{7});
  Look(2, {Socket(7)});
  EXPECT_TRUE(Classified().empty());
  sockets_.ClassifyJob("gpt");
  EXPECT_TRUE(Classified().empty());
  levels_["gpt"] = 5;
  sockets_.ClassifyJob("other");
  EXPECT_TRUE(Classified().empty());
  sockets_.ClassifyJob("gpt");
  EXPECT_EQ(Classified(), std::vector<uint64_t>{7});
}

TEST_F(AcceptedSocketsTest, OnlySendersAreHandedOver) {
  sockets_.Add({.job = "gpt", .pid = 1, .inode = 7});
  sockets_.Add({.job = "gpt", .pid = 1, .inode = 8});
  sockets_.Add({.job = "gpt", .pid = 1, .inode = 9});
  Look(1, {Socket(7, 1e6, 1e6), Socket(8, 1e5, 1e9), Socket(9, 100)});  // data; credits; hardly anything
  EXPECT_EQ(held_, std::vector<uint64_t>{7});
  EXPECT_EQ(sockets_.State().size(), 2u);
  Look(2, {Socket(8, 1e9, 1e9), Socket(9)}, false);
  EXPECT_EQ(sockets_.State().size(), 2u);  // nobody took it
}

TEST_F(AcceptedSocketsTest, ThoseOpenedAfterTheLookAreNotMissing) {
  outbox_.SetTime(At(5));
  sockets_.Add({.job = "gpt", .pid = 1, .inode = 7});
  Look(4, {});
  EXPECT_TRUE(sockets_.HasSocketsOf("gpt"));
  Look(6, {});
  EXPECT_FALSE(sockets_.HasSocketsOf("gpt"));
}

TEST_F(AcceptedSocketsTest, OwnersAreLookedUpOnceAndSeldom) {
  const auto any = [](const SocketPair&) { return true; };
  const SocketsSeen seen = {.asked_at = At(0), .sockets = {Socket(7), Socket(8)}};
  sockets_.LookForOwners(seen, {8}, any);  // 8 was opened here
  const auto actions = outbox_.TakeActions();
  ASSERT_EQ(actions.size(), 1u);
  EXPECT_EQ(std::get<FindOwners>(actions[0]).inodes, std::vector<uint64_t>{7});
  sockets_.LookForOwners({.asked_at = At(0), .sockets = {Socket(7), Socket(9)}}, {8}, any);
  EXPECT_TRUE(outbox_.TakeActions().empty());  // under way
  outbox_.SetTime(At(0.2));
  sockets_.TakeOwners({.owners = {{.inode = 7, .pid = 4, .job = "gpt"}, {.inode = 99, .pid = 4, .job = "gpt"}}});
  EXPECT_EQ(Classified(), std::vector<uint64_t>{7});
  EXPECT_EQ(sockets_.State().size(), 1u);
  // It took 0.2 s: not again for 4 s.
  outbox_.SetTime(At(4.1));
  sockets_.LookForOwners({.asked_at = At(4.1), .sockets = {Socket(9)}}, {}, any);
  EXPECT_TRUE(outbox_.TakeActions().empty());
  outbox_.SetTime(At(4.2));
  sockets_.LookForOwners({.asked_at = At(4.2), .sockets = {Socket(9)}}, {}, any);
  EXPECT_EQ(outbox_.TakeActions().size(), 1u);
}

TEST_F(AcceptedSocketsTest, TooManyAreLeftAlone) {
  for (uint64_t inode = 1; inode <= 5; ++inode) sockets_.Add({.job = "gpt", .pid = 1, .inode = inode});
  EXPECT_EQ(sockets_.State().size(), 3u);
  sockets_.Remove(1);
  sockets_.Add({.job = "gpt", .pid = 1, .inode = 5});
  EXPECT_EQ(sockets_.State().back().inode, 5u);
}

}  // namespace
}  // namespace fairlead::agent
