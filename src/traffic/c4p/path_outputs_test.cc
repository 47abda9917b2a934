#include "traffic/c4p/path_outputs.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

namespace fairlead::traffic::c4p {
namespace {

class PathOutputsTest : public ::testing::Test {
 protected:
  C4pCounters counters_;
  PathOutputs outputs_{&counters_};
  ConnectionTable connections_;

  // A connection with two queue pairs; hosts have one each.
  uint32_t Add(uint32_t host) {
    return connections_.Add(
        {HostId(host), JobId(1)},
        {.connection = host, .source = NicId(host), .destination = NicId(9u), .num_queue_pairs = 2});
  }
  // Ports are numbered by queue pair.
  std::vector<PathAction> Take() {
    return outputs_.Take(connections_, [](QueuePairRef ref) {
      return QueuePairAnswer{.port = static_cast<uint16_t>(50'000 + 10 * ref.connection + ref.queue_pair)};
    });
  }
  std::vector<MoveCause> TakeCauses() {
    std::vector<MoveCause> causes;
    for (const PathAction& action : Take()) {
      for (const PathMove& move : std::get<PathsMoved>(action).moves) causes.push_back(move.cause);
    }
    return causes;
  }
};

TEST_F(PathOutputsTest, WhatIsAddedComesBeforeWhatEndsThenMovesThenScansByHost) {
  const uint32_t of_second = Add(2);
  const uint32_t of_first = Add(1);
  outputs_.Scan(HostId(2), {.source = NicId(2u), .destination = NicId(9u), .ports = {50'000, 50'001}});
  outputs_.Scan(HostId(1), {.source = NicId(1u), .destination = NicId(9u), .ports = {50'000}});
  outputs_.Notify({of_second, 1}, MoveCause::kLinkDown);
  outputs_.Notify({of_first, 0}, MoveCause::kLinkDown);
  outputs_.AddAfter(LeaseExpired{.lease = {HostId(3), JobId(1)}});
  outputs_.Add(AnnouncementWanted{HostId(4)});
  outputs_.Reject("no");
  const std::vector<PathAction> actions = Take();
  ASSERT_EQ(actions.size(), 7u);
  EXPECT_EQ(std::get<AnnouncementWanted>(actions[0]).host, HostId(4));
  EXPECT_EQ(std::get<EventRejected>(actions[1]).reason, "no");
  EXPECT_EQ(std::get<LeaseExpired>(actions[2]).lease.host, HostId(3));
  EXPECT_EQ(std::get<PathsMoved>(actions[3]).host, HostId(1));
  EXPECT_EQ(std::get<PathsMoved>(actions[4]).host, HostId(2));
  EXPECT_EQ(std::get<PathsMoved>(actions[4]).moves[0].answer.port, 50'001);
  EXPECT_EQ(std::get<ScanPorts>(actions[5]).host, HostId(1));
  EXPECT_EQ(std::get<ScanPorts>(actions[6]).scans[0].ports.size(), 2u);
  EXPECT_EQ(counters_.rejected_events, 1u);
  EXPECT_EQ(counters_.of(MoveCause::kLinkDown), 2u);
  EXPECT_EQ(counters_.ports_asked, 3u);
  EXPECT_TRUE(Take().empty());
}

TEST_F(PathOutputsTest, AQueuePairIsToldOnceForTheFirstCauseThatChangedItsPath) {
  const QueuePairRef ref{Add(1), 0};
  outputs_.Notify(ref, MoveCause::kLinkDown);
  outputs_.Notify(ref, MoveCause::kImbalance);
  EXPECT_EQ(TakeCauses(), std::vector{MoveCause::kLinkDown});
  // A new port alone is the lesser news.
  outputs_.Notify(ref, MoveCause::kPortFound);
  outputs_.Notify(ref, MoveCause::kLinkBack);
  outputs_.Notify(ref, MoveCause::kRepinned);
  EXPECT_EQ(TakeCauses(), std::vector{MoveCause::kLinkBack});
}

TEST_F(PathOutputsTest, AQueuePairThatHasEndedIsNotTold) {
  const uint32_t slot = Add(1);
  outputs_.Notify({slot, 0}, MoveCause::kLinkDown);
  outputs_.Notify({slot, 1}, MoveCause::kStranded);
  outputs_.Withdraw({slot, 0});
  EXPECT_EQ(TakeCauses(), std::vector{MoveCause::kStranded});
}

}  // namespace
}  // namespace fairlead::traffic::c4p
