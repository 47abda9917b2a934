#include "traffic/c4p/imbalance_watch.h"

#include <gtest/gtest.h>

namespace fairlead::traffic::c4p {
namespace {

SimTime AtSecond(int64_t seconds) { return SimTime(seconds * 1'000'000'000); }

C4pOptions UnevenOptions() {
  C4pOptions options;
  options.imbalance_limit = 1.3;
  options.imbalance_duration = SimDuration(10'000'000'000);
  options.imbalance_period = SimDuration(1'000'000'000);
  return options;
}

class WatchedLoads {
 public:
  double imbalance = 1;
  int num_measured = 0;
  ImbalanceWatch watch{UnevenOptions()};

  bool Look(int64_t seconds) {
    return watch.Look(AtSecond(seconds), [this] {
      ++num_measured;
      return imbalance;
    });
  }
};

TEST(ImbalanceWatchTest, OnlyWhatLastsIsBalanced) {
  WatchedLoads loads;
  loads.imbalance = 2;
  loads.watch.NoteChange();
  EXPECT_FALSE(loads.Look(100));
  EXPECT_FALSE(loads.Look(109));
  EXPECT_TRUE(loads.Look(110));
  loads.watch.NoteBalanced();
  EXPECT_FALSE(loads.Look(130)) << "what is left can't be helped";
  loads.watch.NoteChange();
  EXPECT_FALSE(loads.Look(140));
  EXPECT_TRUE(loads.Look(150));
}

TEST(ImbalanceWatchTest, ABreakStartsTheTimeAgain) {
  WatchedLoads loads;
  loads.imbalance = 1.4;
  loads.watch.NoteChange();
  EXPECT_FALSE(loads.Look(100));
  loads.imbalance = 1.3;
  loads.watch.NoteChange();
  EXPECT_FALSE(loads.Look(105)) << "at the limit is fine";
  loads.imbalance = 1.4;
  loads.watch.NoteChange();
  EXPECT_FALSE(loads.Look(106));
  EXPECT_FALSE(loads.Look(115));
  EXPECT_TRUE(loads.Look(116));
}

TEST(ImbalanceWatchTest, LoadsAreMeasuredAfterChangesOnlyAndNotMoreOftenThanAllowed) {
  WatchedLoads loads;
  for (int64_t second = 0; second < 5; ++second) loads.Look(second);
  EXPECT_EQ(loads.num_measured, 0);
  loads.watch.NoteChange();
  loads.Look(5);
  loads.watch.NoteChange();
  loads.Look(5);
  EXPECT_EQ(loads.num_measured, 1) << "within the period";
  loads.Look(6);
  loads.Look(7);
  EXPECT_EQ(loads.num_measured, 2);
}

}  // namespace
}  // namespace fairlead::traffic::c4p
