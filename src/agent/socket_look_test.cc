#include "agent/socket_look.h"

#include <gtest/gtest.h>

#include "agent/agent_components_example.h"

namespace fairlead::agent {
namespace {

SeenSocket SocketOf(uint16_t port, uint64_t inode, bool is_over = false) {
  return {.ends = {ComponentExample::Here(), ComponentExample::There(), port, ComponentExample::kServicePort},
          .inode = inode,
          .is_over = is_over};
}

KeptConnection OpenFrom(uint16_t port, uint64_t inode) {
  KeptConnection kept = ComponentExample::Kept(inode);
  kept.socket_port = port;
  return kept;
}

TEST(SocketLookTest, ASocketLivesWhileItMaySendAndIsNotALaterOne) {
  const SocketsSeen event = {SimTime(), {SocketOf(1, 7), SocketOf(2, 0), SocketOf(3, 0, true), SocketOf(4, 9)}};
  const SocketLook look(event);
  EXPECT_TRUE(look.IsAlive(OpenFrom(1, 7)));
  EXPECT_TRUE(look.IsAlive(OpenFrom(2, 7))) << "closed, with data on its way";
  EXPECT_FALSE(look.IsAlive(OpenFrom(3, 7))) << "all has arrived";
  EXPECT_FALSE(look.IsAlive(OpenFrom(4, 7))) << "a later connection has its ports";
  EXPECT_FALSE(look.IsAlive(OpenFrom(5, 7)));
}

TEST(SocketLookTest, ASocketIsFoundByItsInodeIfItLeadsWhereItWasToLead) {
  SocketsSeen event = {SimTime(), {SocketOf(1, 7), SocketOf(2, 8), SocketOf(3, 0)}};
  event.sockets[1].ends.remote_port = 22;
  SocketLook look(event);
  EXPECT_EQ(look.FindOpened(ComponentExample::Kept(7)), std::optional<uint16_t>(1));
  EXPECT_EQ(look.FindOpened(ComponentExample::Kept(8)), std::nullopt) << "its process used it for another one";
  EXPECT_EQ(look.FindOpened(ComponentExample::Kept(9)), std::nullopt);
  EXPECT_EQ(look.by_inode().size(), 2u);
  EXPECT_EQ(look.TakeEnds().size(), 3u);
}

}  // namespace
}  // namespace fairlead::agent
