#include "traffic/c4p/link_watch.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fairlead::traffic::c4p {
namespace {

constexpr LinkId kLink(0);

LinkReported Word(double health) { return {.link = kLink, .health = health, .source = "operator"}; }

TEST(LinkWatchTest, ALinkThatReturnsIsTheLastResortUntilItIsClean) {
  LinkWatch watch(2, {}, {});
  EXPECT_EQ(watch.HealthOf(kLink), 1);
  ASSERT_EQ(watch.Report(SimTime(1), Word(0))->size(), 1u);
  EXPECT_EQ(watch.HealthOf(kLink), 0);
  const auto back = watch.Report(SimTime(2), Word(0.5)).value();
  ASSERT_EQ(back.size(), 1u);
  EXPECT_EQ(back[0].to, LinkState::kProbation);
  EXPECT_EQ(back[0].health, 0.5);
  EXPECT_EQ(watch.HealthOf(kLink), 0.5 * LinkWatch::kLastResort);
  const ProbeResult clean = {.links = {kLink}, .sent = 1000, .lost = 0, .rtt = Seconds(0)};
  for (int64_t round = 0; round < 3; ++round) watch.Observe(SimTime(3 + round), {&clean, 1});
  EXPECT_EQ(watch.state(kLink), LinkState::kUp);
  EXPECT_EQ(watch.HealthOf(kLink), 0.5);
}

TEST(LinkWatchTest, OnlyChangesAreReported) {
  LinkWatch watch(2, {}, {});
  EXPECT_TRUE(watch.Report(SimTime(1), Word(1))->empty());
  const auto slower = watch.Report(SimTime(1), Word(0.25)).value();
  ASSERT_EQ(slower.size(), 1u);
  EXPECT_EQ(slower[0].from, slower[0].to);
  EXPECT_EQ(slower[0].reason, "operator reports 25 % of the capacity left");
  EXPECT_TRUE(watch.Report(SimTime(1), Word(0.25))->empty());
  EXPECT_EQ(watch.Report(SimTime(1), Word(0))->size(), 1u);
  EXPECT_TRUE(watch.Report(SimTime(1), Word(0))->empty());
}

TEST(LinkWatchTest, RefusesWhatIsNoFraction) {
  LinkWatch watch(2, {}, {});
  for (const double health : {-0.1, 1.1, std::nan("")}) EXPECT_FALSE(watch.Report(SimTime(1), Word(health)).ok());
  EXPECT_FALSE(watch.Report(SimTime(1), {.link = LinkId(2), .health = 1, .source = "x"}).ok());
  EXPECT_FALSE(watch.Report(SimTime(1), {.link = LinkId(2), .health = 0, .source = "x"}).ok());
}

}  // namespace
}  // namespace fairlead::traffic::c4p
