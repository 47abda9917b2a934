#include "diagnosis/c4d/own_silence.h"

#include <gtest/gtest.h>

namespace fairlead::diagnosis::c4d {
namespace {

TEST(OwnSilenceTest, WhoWasNotCalledOrHeardNobodyWasAway) {
  constexpr SimDuration kAwayMin(30);
  OwnSilence silence;
  EXPECT_FALSE(silence.NoteCall(SimTime(10), true, kAwayMin));
  EXPECT_FALSE(silence.NoteCall(SimTime(40), true, kAwayMin));
  EXPECT_TRUE(silence.NoteCall(SimTime(71), true, kAwayMin)) << "no call";
  EXPECT_FALSE(silence.NoteCall(SimTime(90), false, kAwayMin));
  EXPECT_FALSE(silence.NoteCall(SimTime(110), false, kAwayMin)) << "nobody is heard yet";
  EXPECT_TRUE(silence.NoteCall(SimTime(111), true, kAwayMin)) << "none was heard between 71 and 111";
  EXPECT_FALSE(silence.NoteCall(SimTime(112), true, kAwayMin));
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d
