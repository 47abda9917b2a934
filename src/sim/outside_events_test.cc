#include "sim/outside_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fairlead::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(OutsideEventsTest, EachComesOnceByTime) {
  OutsideEvents events({{SimTime(20), JobId(1)}, {SimTime(10), JobId(3)}, {SimTime(10), JobId(2)}},
                       {{SimTime(15), LinkId(0), 0.5}, {SimTime(5), LinkId(1), 0}});
  EXPECT_EQ(events.Next(), SimTime(5));
  EXPECT_THAT(events.TakeArrivals(SimTime(9)), IsEmpty());
  EXPECT_THAT(events.TakeArrivals(SimTime(10)), ElementsAre(Pair(SimTime(10), JobId(2)), Pair(SimTime(10), JobId(3))));
  EXPECT_THAT(events.TakeArrivals(SimTime(10)), IsEmpty());
  EXPECT_TRUE(events.has_arrivals());
  EXPECT_EQ(events.TakeLinkEvents(SimTime(14)).size(), 1u);
  EXPECT_EQ(events.Next(), SimTime(15));
  EXPECT_EQ(events.TakeLinkEvents(SimTime(15))[0].health, 0.5);
  EXPECT_EQ(events.TakeArrivals(SimTime(100)).size(), 1u);
  EXPECT_FALSE(events.has_arrivals());
  EXPECT_EQ(events.Next(), SimTime::Never());
}

// The last one of a link and instant counts, so their order is kept.
TEST(OutsideEventsTest, ChangesOfOneInstantComeAsTheyWereGiven) {
  OutsideEvents events({}, {{SimTime(2), LinkId(9), 1}, {SimTime(1), LinkId(9), 0}, {SimTime(1), LinkId(9), 0.7}});
  const auto first = events.TakeLinkEvents(SimTime(1));
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0].health, 0);
  EXPECT_EQ(first[1].health, 0.7);
}

TEST(OutsideEventsTest, EndsOfHoldsMayBeWithdrawn) {
  OutsideEvents events({}, {});
  events.AddHoldEnd(SimTime(7), JobId(1));
  events.AddHoldEnd(SimTime(7), JobId(0));
  events.AddHoldEnd(SimTime(3), JobId(2));
  events.AddHoldEnd(SimTime(9), JobId(3));
  events.RemoveHoldEnd(SimTime(3), JobId(2));
  events.RemoveHoldEnd(SimTime(3), JobId(2));
  EXPECT_EQ(events.Next(), SimTime(7));
  EXPECT_THAT(events.TakeHoldEnds(SimTime(7)), ElementsAre(JobId(0), JobId(1)));
  EXPECT_EQ(events.Next(), SimTime(9));
}

}  // namespace
}  // namespace fairlead::sim
