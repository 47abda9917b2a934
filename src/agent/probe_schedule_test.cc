#include "agent/probe_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "base/random.h"

namespace fairlead::agent {
namespace {

controller::ProbesWanted Wanted(uint64_t round, size_t num_ports, size_t num_scans = 1) {
  controller::PortScanWanted scan;
  scan.source_ports.resize(num_ports);
  std::iota(scan.source_ports.begin(), scan.source_ports.end(), uint16_t{50'000});
  return {.round = round, .scans = std::vector(num_scans, scan)};
}

TEST(ProbeSchedule, CutsScansAndMarksTheLastPiece) {
  ProbeSchedule schedule({.ports_per_order = 64}, SimTime());
  schedule.Take(Wanted(7, 151));
  // 151 ports need three pieces of at most 64: 50, 50 and 51, one after the other.
  uint16_t next_port = 50'000;
  for (const size_t size : {50u, 50u, 51u}) {
    const auto order = schedule.Next(SimTime(), ProbeSchedule::kWatch);
    ASSERT_TRUE(order.has_value());
    EXPECT_EQ(order->scan.source_ports.size(), size);
    EXPECT_EQ(order->scan.source_ports.front(), next_port);
    next_port += static_cast<uint16_t>(size);
    EXPECT_EQ(order->ends_round, size == 51);
    EXPECT_FALSE(schedule.Next(SimTime(), ProbeSchedule::kWatch).has_value()) << "one at a time";
    EXPECT_TRUE(schedule.Finish(order->number).has_value());
    EXPECT_FALSE(schedule.Finish(order->number).has_value());
  }
  EXPECT_EQ(schedule.NextDue(), SimTime::Never());
}

// The port that a process waits for may be in the first piece: at least 4 ports in each, at most 4 pieces, or as many
// as 64 ports in each need. All ports are there once, in order.
TEST(ProbeSchedule, SearchesAreCutIntoFew) {
  for (const auto& [num_ports, num_pieces] : std::vector<std::pair<size_t, size_t>>{
           {1, 1}, {7, 1}, {8, 2}, {15, 3}, {16, 4}, {64, 4}, {256, 4}, {257, 5}, {0, 0}}) {
    ProbeSchedule schedule({.ports_per_order = 64, .ports_per_search_piece = 4}, SimTime());
    const controller::ProbesWanted wanted = Wanted(0, num_ports);
    schedule.Take(wanted);
    std::vector<uint16_t> probed;
    size_t num_orders = 0;
    while (const auto order = schedule.Next(SimTime(), ProbeSchedule::kScan)) {
      ++num_orders;
      EXPECT_LE(order->scan.source_ports.size(), 64u);
      probed.insert(probed.end(), order->scan.source_ports.begin(), order->scan.source_ports.end());
      EXPECT_EQ(order->ends_round, probed.size() == num_ports);
      schedule.Finish(order->number);
    }
    EXPECT_EQ(num_orders, num_pieces) << num_ports;
    EXPECT_EQ(probed, wanted.scans.front().source_ports);
  }
}

// 1000 packets a second, 3 for a port: a piece of 50 ports is 150. The bucket begins full with 1000: 7 pieces leave
// -50, and the eighth must wait 50 ms for watching; a scan need not.
TEST(ProbeSchedule, WatchingWaitsForTokensAndScansDoNot) {
  ProbeSchedule schedule({.probes_per_second = 1000, .packets_per_port = 3, .ports_per_order = 50}, SimTime());
  schedule.Take(Wanted(9, 50, 8));
  for (int i = 0; i < 7; ++i) {
    const auto order = schedule.Next(SimTime(), ProbeSchedule::kWatch);
    ASSERT_TRUE(order.has_value()) << i;
    schedule.Finish(order->number);
  }
  EXPECT_FALSE(schedule.Next(SimTime(), ProbeSchedule::kWatch).has_value());
  const SimTime due = schedule.NextDue();
  EXPECT_GE(due, SimTime(50'000'000));
  EXPECT_LT(due, SimTime(50'000'100));
  schedule.Take(Wanted(0, 50));
  EXPECT_EQ(schedule.NextDue(), SimTime());
  EXPECT_TRUE(schedule.Next(SimTime(), ProbeSchedule::kScan).has_value());
  EXPECT_FALSE(schedule.Next(due, ProbeSchedule::kWatch).has_value()) << "the scan has taken 150 more";
  EXPECT_TRUE(schedule.Next(due + SimDuration(151'000'000), ProbeSchedule::kWatch).has_value());
}

TEST(ProbeSchedule, NeverSendsMoreThanTheRate) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    const ProbeScheduleOptions options = {.probes_per_second = 1000, .packets_per_port = 2, .ports_per_order = 20};
    ProbeSchedule schedule(options, SimTime());
    SimTime now;
    double packets[2] = {0, 0};
    for (int i = 0; i < 2000; ++i) {
      if (random.Below(3) == 0) schedule.Take(Wanted(random.Below(2), random.Below(70)));
      now = std::max(now, random.Below(2) == 0 ? now + SimDuration(static_cast<int64_t>(random.Below(9'000'000)))
                                               : std::min(schedule.NextDue(), now + SimDuration(1'000'000)));
      for (const auto urgency : {ProbeSchedule::kScan, ProbeSchedule::kWatch}) {
        const auto order = schedule.Next(now, urgency);
        if (!order.has_value()) continue;
        packets[urgency] += 2.0 * static_cast<double>(order->scan.source_ports.size());
        schedule.Finish(order->number);
      }
      // Both queues drink from one bucket of a second, and scans a second ahead; a piece is 40 packets.
      EXPECT_LE(packets[0] + packets[1], (2 + now.seconds().value()) * 1000 + 80);
    }
  }
}

TEST(ProbeSchedule, DropsTheOldestWhenFull) {
  ProbeSchedule schedule({.num_scans_max = 3}, SimTime());
  EXPECT_EQ(schedule.Take(Wanted(0, 1, 5)), 2u);
  EXPECT_EQ(schedule.Take(Wanted(0, 0, 5)), 0u);
  schedule.Forget();
  EXPECT_FALSE(schedule.Next(SimTime(), ProbeSchedule::kScan).has_value());
}

}  // namespace
}  // namespace fairlead::agent
