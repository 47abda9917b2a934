#include "traffic/c4p/pending_scans.h"

#include <gtest/gtest.h>

#include <vector>

#include "traffic/c4p/port_map_example.h"

namespace fairlead::traffic::c4p {
namespace {

using Ports = std::vector<uint16_t>;

constexpr SimDuration kTimeout(10);
constexpr QueuePairRef kFirst{1, 0};
constexpr QueuePairRef kSecond{1, 1};

TEST(PendingScansTest, OneScanServesAllQueuePairsOfThePair) {
  PendingScans scans(kTimeout, 100);
  EXPECT_EQ(scans.Wait(Pair(), kFirst, 1, Ports{7, 8}, true, SimTime(0)), (Ports{7, 8}));
  EXPECT_EQ(scans.Wait(Pair(), kSecond, 1, Ports{7, 8, 9}, true, SimTime(0)), Ports());
  // A port in particular is asked for, but not twice.
  EXPECT_EQ(scans.Wait(Pair(), kSecond, 1, Ports{5}, false, SimTime(0)), Ports{5});
  EXPECT_EQ(scans.Wait(Pair(), kSecond, 1, Ports{5}, false, SimTime(0)), Ports());
  EXPECT_EQ(scans.TakeWaiting(Pair()), (std::vector{kFirst, kSecond}));
  EXPECT_TRUE(scans.TakeWaiting(Pair()).empty());
}

TEST(PendingScansTest, MoreIsAskedForWhenAllResultsAreIn) {
  PendingScans scans(kTimeout, 100);
  scans.Wait(Pair(), kFirst, 1, Ports{7, 8}, true, SimTime(0));
  scans.Answer(Pair(), std::vector<uint16_t>{7});
  EXPECT_EQ(scans.Wait(Pair(), kFirst, 1, Ports{9}, true, SimTime(0)), Ports());
  scans.Answer(Pair(), std::vector<uint16_t>{8});
  EXPECT_EQ(scans.Wait(Pair(), kFirst, 1, Ports{9}, true, SimTime(0)), Ports{9});
  // A new epoch: what is out is worth nothing.
  EXPECT_EQ(scans.Wait(Pair(), kFirst, 2, Ports{9}, true, SimTime(0)), Ports{9});
}

TEST(PendingScansTest, OverduePairsComeOnceOldestFirst) {
  PendingScans scans(kTimeout, 100);
  scans.Wait(Pair(3), kFirst, 1, Ports{7}, true, SimTime(0));
  scans.Wait(Pair(1), kSecond, 1, Ports{7}, true, SimTime(5));
  scans.Wait(Pair(2), kSecond, 1, Ports{7}, true, SimTime(5));
  scans.Answer(Pair(2), std::vector<uint16_t>{7});
  EXPECT_TRUE(scans.TakeOverdue(SimTime(9)).empty());
  EXPECT_EQ(scans.TakeOverdue(SimTime(10)), std::vector{Pair(3)});
  EXPECT_EQ(scans.TakeOverdue(SimTime(20)), std::vector{Pair(1)});
  EXPECT_TRUE(scans.TakeOverdue(SimTime(100)).empty());
}

TEST(PendingScansTest, GivesUpAfterSoManyPortsOfAnEpoch) {
  PendingScans scans(kTimeout, 2);
  scans.Wait(Pair(), kFirst, 1, Ports{7, 8}, true, SimTime(0));
  EXPECT_FALSE(scans.HasTried(Pair(), 1));  // results may still come
  scans.Answer(Pair(), std::vector<uint16_t>{7});
  scans.Answer(Pair(), std::vector<uint16_t>{8});
  EXPECT_TRUE(scans.HasTried(Pair(), 1));
  EXPECT_FALSE(scans.HasTried(Pair(), 2));
  scans.TakeWaiting(Pair());
  scans.Tidy(Pair());
  EXPECT_EQ(scans.size(), 0u);
}

}  // namespace
}  // namespace fairlead::traffic::c4p
