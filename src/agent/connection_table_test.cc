#include "agent/connection_table.h"

#include <gtest/gtest.h>

#include "agent/agent_components_example.h"

namespace fairlead::agent {
namespace {

using Stage = ConnectionTable::Connection::Stage;

// All indices against what a list of what was added and removed says.
TEST(ConnectionTableTest, IndicesAgreeWhateverIsAddedAndRemoved) {
  ComponentExample example;
  const ConnectionTable& table = example.connections;
  Random random(7);
  std::vector<uint64_t> numbers;
  std::map<uint64_t, KeptConnection> added;
  std::map<uint64_t, uint64_t> last_with;  // inode -> connection
  for (int i = 0; i < 2000; ++i) {
    if (numbers.empty() || random.Below(2) == 0) {
      const KeptConnection kept = ComponentExample::Kept(random.Below(6), random.Below(2) == 0 ? "a" : "b");
      const uint64_t number = example.connections.Add(kept).number();
      EXPECT_TRUE(number > 0 && number < uint64_t{1} << 53);
      ASSERT_TRUE(added.emplace(number, kept).second) << "a number is used twice";
      numbers.push_back(number);
      if (kept.inode != 0) last_with[kept.inode] = number;
    } else {
      const size_t place = random.Below(numbers.size());
      const uint64_t number = numbers[place];
      const uint64_t inode = added.at(number).inode;
      if (inode != 0 && last_with.contains(inode) && last_with.at(inode) == number) last_with.erase(inode);
      example.connections.Remove(number);
      added.erase(number);
      numbers.erase(numbers.begin() + static_cast<std::ptrdiff_t>(place));
    }
    ASSERT_EQ(table.size(), added.size());
    std::map<std::string, std::set<uint64_t>> jobs;
    for (const auto& [number, kept] : added) {
      jobs[kept.job].insert(number);
      ASSERT_NE(table.Find(number), nullptr);
      EXPECT_EQ(table.at(number).kept.inode, kept.inode);
    }
    ASSERT_EQ(table.jobs(), jobs);
    for (uint64_t inode = 0; inode < 6; ++inode) {
      const ConnectionTable::Connection* found = table.FindSocket(100, inode);
      const auto expected = last_with.find(inode);
      ASSERT_EQ(found != nullptr, expected != last_with.end());
      if (found != nullptr) {
        EXPECT_EQ(found->number(), expected->second);
      }
      EXPECT_EQ(table.FindSocket(101, inode), nullptr) << "another process";
    }
  }
}

TEST(ConnectionTableTest, EachChangeOfWhatIsKeptRaisesTheRevision) {
  ComponentExample example;
  uint64_t revision = example.outbox.revision();
  const auto has_changed = [&] { return std::exchange(revision, example.outbox.revision()) != revision; };
  const uint64_t number = example.Add(7);
  EXPECT_FALSE(has_changed()) << "it is not open, so it is not kept";
  EXPECT_TRUE(example.connections.SetPlan(number, ComponentExample::Use(50'007)));
  EXPECT_TRUE(has_changed());
  EXPECT_FALSE(example.connections.SetPlan(number, ComponentExample::Use(50'008))) << "not the first";
  EXPECT_TRUE(has_changed());
  EXPECT_TRUE(example.connections.State().empty());
  example.connections.Open(number, 50'001);
  EXPECT_TRUE(has_changed());
  example.connections.SetWirePort(number, 50'008);
  EXPECT_TRUE(has_changed());
  ASSERT_EQ(example.connections.State().size(), 1u);
  const KeptConnection kept = example.connections.State()[0];
  EXPECT_EQ(kept.socket_port, 50'001);
  EXPECT_EQ(kept.wire_port, 50'008);
  EXPECT_EQ(kept.answer, ComponentExample::Use(50'008));
  example.connections.Remove(number);
  EXPECT_TRUE(has_changed());
}

TEST(ConnectionTableTest, WhatWasKeptIsOpenAgainUnderItsNumber) {
  ComponentExample before;
  const uint64_t number = before.AddOpen(7);
  before.Add(8);
  std::vector<KeptConnection> kept = before.connections.State();
  ASSERT_EQ(kept.size(), 1u);
  kept.push_back(kept[0]);
  kept[1].job = "other";  // the first of equal numbers counts
  ComponentExample after;
  after.connections.Restore(kept);
  EXPECT_EQ(after.connections.State(), before.connections.State());
  EXPECT_EQ(after.connections.at(number).stage, Stage::kOpen);
  ASSERT_NE(after.connections.FindSocket(100, 7), nullptr);
  EXPECT_EQ(after.connections.FindSocket(100, 7)->number(), number);
  EXPECT_FALSE(after.connections.jobs().contains("other"));
}

TEST(ConnectionTableTest, OnlyOpenSocketsAreCounted) {
  ComponentExample example;
  example.AddOpen(7);
  example.AddOpen(0);  // a queue pair
  example.connections.SetUnclear(example.Add(8));
  EXPECT_EQ(example.connections.OpenSockets(),
            (std::vector<SocketPair>{{ComponentExample::Here(), ComponentExample::There(),
                                      ComponentExample::kSocketPort, ComponentExample::kServicePort}}));
  example.Add(9, "other");
  EXPECT_EQ(example.connections.NumAnsweredJobs(), 1u) << "of the other the controller has said nothing";
}

}  // namespace
}  // namespace fairlead::agent
