#include "diagnosis/c4d/known_pauses.h"

#include <gtest/gtest.h>

#include <vector>

#include "model/culprits.h"

namespace fairlead::diagnosis::c4d {
namespace {

SimTime SecondOfPause(int64_t s) { return SimTime(s * 1'000'000'000); }

class KnownPausesTest : public ::testing::Test {
 protected:
  // Waits are noted each second. Returns: the second of the first that is not known.
  int64_t FirstUnknown(int64_t begin, int64_t end) {
    int64_t first = -1;
    for (int64_t s = begin; s <= end; ++s) {
      if (!pauses_.IsKnown(rank_0_, SecondOfPause(s)) && first < 0) first = s;
    }
    return first;
  }

  const std::vector<model::Culprit> rank_0_ = {model::HostCulprit(HostId(0))};
  const std::vector<model::Culprit> other_ = {model::HostCulprit(HostId(1))};
  KnownPauses pauses_;
};

// Noted from second 10 to 20, after 5 s: it took 15 s, so 30 s are known the next time.
TEST_F(KnownPausesTest, TwiceAsLongAsBefore) {
  EXPECT_EQ(FirstUnknown(10, 20), 10);
  pauses_.EndOthers(SecondOfPause(21), SecondOfPause(20), SimDuration(5'000'000'000));
  EXPECT_FALSE(pauses_.IsKnown(other_, SecondOfPause(100)));
  EXPECT_EQ(FirstUnknown(100, 140), 130);
}

TEST_F(KnownPausesTest, TheLongestCounts) {
  FirstUnknown(10, 20);
  pauses_.EndOthers(SecondOfPause(21), SecondOfPause(20), SimDuration(0));
  FirstUnknown(30, 31);
  pauses_.EndOthers(SecondOfPause(32), SecondOfPause(31), SimDuration(0));
  EXPECT_EQ(FirstUnknown(100, 140), 120);
}

TEST_F(KnownPausesTest, OneThatGoesOnOrGivesWayTeachesNothing) {
  FirstUnknown(10, 20);
  pauses_.EndOthers(SecondOfPause(20), SecondOfPause(20), SimDuration(0));
  EXPECT_EQ(FirstUnknown(21, 30), 21) << "it has not ended";
  pauses_.EndOthers(SecondOfPause(31), SecondOfPause(29), SimDuration(0));
  EXPECT_EQ(FirstUnknown(100, 140), 100) << "the job did not go on";
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d
