#include "sim/failure_detection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "topology/clos_fabrics.h"

namespace fairlead::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Leaf to spine links are noticed after 10 ns, ports of NICs after 100.
class FailureDetectionTest : public ::testing::Test {
 protected:
  std::vector<double> Change(int64_t now_ns, std::vector<LinkEvent> changes) {
    std::vector<double> known;
    for (const LinkEvent& event : detection_.Take(changes, SimTime(now_ns))) known.push_back(event.health);
    return known;
  }
  LinkEvent Uplink(double health) const { return {SimTime(), uplink_, health}; }
  LinkEvent Port(double health) const { return {SimTime(), port_, health}; }

  topology::Fabric fabric_ = MakeFabric();
  LinkId uplink_ = fabric_.FindLink("leaf0->spine0");
  LinkId port_ = fabric_.FindLink("h0/nic0->leaf0");
  FailureDetection detection_{fabric_, {.detect = SimDuration(10), .detect_port = SimDuration(100)}};

 private:
  static topology::Fabric MakeFabric() { return topology::BuildClos({.leaves = 2, .hosts_per_leaf = 2}).value(); }
};

TEST_F(FailureDetectionTest, ADeadLinkIsDeadAtOnceAndKnownLater) {
  EXPECT_THAT(Change(5, {Uplink(0)}), IsEmpty());
  EXPECT_EQ(detection_.health()[uplink_], 0);
  EXPECT_EQ(detection_.known_health()[uplink_], 1);
  EXPECT_THAT(detection_.Unnoticed(), ElementsAre(uplink_));
  EXPECT_EQ(detection_.Next(), SimTime(15));
  EXPECT_THAT(Change(14, {}), IsEmpty());
  EXPECT_THAT(Change(15, {}), ElementsAre(0));
  EXPECT_EQ(detection_.known_health()[uplink_], 0);
  EXPECT_THAT(detection_.Unnoticed(), IsEmpty());
  EXPECT_EQ(detection_.Next(), SimTime::Never());
  EXPECT_THAT(Change(20, {Uplink(1)}), ElementsAre(1)) << "what comes back is known at once";
}

TEST_F(FailureDetectionTest, PortsTakeTheirOwnTime) {
  EXPECT_THAT(Change(0, {Port(0), Uplink(0)}), IsEmpty());
  EXPECT_THAT(Change(10, {}), ElementsAre(0));
  EXPECT_EQ(detection_.known_health()[uplink_], 0);
  EXPECT_EQ(detection_.Next(), SimTime(100));
  EXPECT_THAT(Change(100, {}), ElementsAre(0));
  EXPECT_EQ(detection_.known_health()[port_], 0);
}

TEST_F(FailureDetectionTest, WhatComesBackBeforeAnybodyNoticedWasNeverDead) {
  EXPECT_THAT(Change(0, {Uplink(0)}), IsEmpty());
  EXPECT_THAT(Change(9, {Uplink(1)}), IsEmpty());
  EXPECT_EQ(detection_.Next(), SimTime::Never());
  // The next outage counts from its own start; more of the same changes nothing.
  EXPECT_THAT(Change(12, {Uplink(0)}), IsEmpty());
  EXPECT_THAT(Change(20, {Uplink(0)}), IsEmpty());
  EXPECT_EQ(detection_.Next(), SimTime(22));
  // It comes back weaker than it was.
  EXPECT_THAT(Change(21, {Uplink(0.5)}), ElementsAre(0.5));
  EXPECT_THAT(detection_.Unnoticed(), IsEmpty());
}

TEST_F(FailureDetectionTest, WeakLinksAreKnownAtOnceAndTheLastChangeOfAnInstantCounts) {
  EXPECT_THAT(Change(0, {Uplink(0.25)}), ElementsAre(0.25));
  EXPECT_THAT(Change(1, {Uplink(0), Uplink(0.25)}), IsEmpty());
  EXPECT_EQ(detection_.Next(), SimTime::Never());
  EXPECT_THAT(Change(2, {Uplink(1), Uplink(0)}), IsEmpty());
  EXPECT_EQ(detection_.known_health()[uplink_], 0.25);
  EXPECT_THAT(Change(12, {Uplink(1), Uplink(0)}), ElementsAre(0)) << "it is noticed although it has blinked";
}

TEST(InstantDetectionTest, PassesAllChangesOnAsTheyCome) {
  const topology::Fabric fabric = topology::BuildClos({.leaves = 2, .hosts_per_leaf = 2}).value();
  FailureDetection detection(fabric, {});
  Random random(1);
  for (int i = 0; i < 100; ++i) {
    std::vector<LinkEvent> changes;
    for (uint64_t c = random.Below(4); c > 0; --c) {
      changes.push_back(
          {SimTime(i), LinkId(random.Below(fabric.num_links())), 0.5 * static_cast<double>(random.Below(3))});
    }
    const std::vector<LinkEvent> known = detection.Take(changes, SimTime(i));
    ASSERT_EQ(known.size(), changes.size());
    for (size_t c = 0; c < changes.size(); ++c) {
      EXPECT_EQ(known[c].link, changes[c].link);
      EXPECT_EQ(known[c].health, changes[c].health);
    }
    EXPECT_EQ(detection.Next(), SimTime::Never());
    EXPECT_TRUE(detection.Unnoticed().empty());
    EXPECT_EQ(detection.health(), detection.known_health());
  }
}

}  // namespace
}  // namespace fairlead::sim
