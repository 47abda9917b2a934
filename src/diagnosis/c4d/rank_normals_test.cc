#include "diagnosis/c4d/rank_normals.h"

#include <gtest/gtest.h>

namespace fairlead::diagnosis::c4d {
namespace {

TEST(RankNormalsTest, TheMeanOfTheFirstWindows) {
  RankNormals normals(2, 3);
  for (const double factor : {1.0, 2.0, 6.0, 100.0}) {
    EXPECT_EQ(normals.IsKnown(1), factor == 100);
    normals.Learn(1, {.own_per_output = factor,
                      .idle_per_output = 2 * factor,
                      .own_ratio = 3 * factor,
                      .blame_share = 4 * factor,
                      .lag_share = 5 * factor});
  }
  // (1 + 2 + 6) / 3; the fourth window is too late.
  EXPECT_DOUBLE_EQ(normals.Of(1).own_per_output, 3);
  EXPECT_DOUBLE_EQ(normals.Of(1).idle_per_output, 6);
  EXPECT_DOUBLE_EQ(normals.Of(1).own_ratio, 9);
  EXPECT_DOUBLE_EQ(normals.Of(1).blame_share, 12);
  EXPECT_DOUBLE_EQ(normals.Of(1).lag_share, 15);
  EXPECT_FALSE(normals.IsKnown(0));
  EXPECT_EQ(normals.Of(0).own_per_output, 0);
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d
