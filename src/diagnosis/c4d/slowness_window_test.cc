#include "diagnosis/c4d/slowness_window.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace fairlead::diagnosis::c4d {
namespace {

// Windows of 10 s and ten operations, or of 60 s.
class SlownessWindowTest : public ::testing::Test {
 protected:
  static SimTime At(double s) { return SimTime::FromSeconds(Seconds(100 + s)); }
  std::optional<bool> End(double s, const std::vector<uint64_t>& completed, double block_seconds = 0) const {
    return window_.End(At(s), completed, block_seconds);
  }

  SlownessWindow window_{WindowOptions()};
};

TEST_F(SlownessWindowTest, EndsWithTimeAndOperations) {
  window_.Begin(At(0), {100, 0, 0});
  EXPECT_FALSE(window_.MayEnd(At(9.9)));
  EXPECT_EQ(End(9.9, {200, 0, 0}), std::nullopt);
  EXPECT_TRUE(window_.MayEnd(At(10)));
  EXPECT_EQ(End(10, {109, 0, 0}), std::nullopt);
  EXPECT_EQ(End(10, {110, 0, 0}), true) << "those without operations do not count";
  EXPECT_EQ(End(10, {110, 9, 5}), std::nullopt) << "the median has nine";
  EXPECT_EQ(End(10, {110, 10, 5}), true);
  EXPECT_EQ(End(60, {109, 0, 0}), false) << "too little ran";
}

TEST_F(SlownessWindowTest, TwoBlocksOfIterationsAreEnough) {
  window_.Begin(At(0), {0});
  EXPECT_EQ(End(19, {1}, 10), std::nullopt);
  EXPECT_EQ(End(20, {1}, 10), true);
  EXPECT_EQ(End(20, {0}, 10), std::nullopt) << "nothing ran";
}

TEST_F(SlownessWindowTest, OneThatStoodStillDoesNotCount) {
  window_.Begin(At(0), {0});
  window_.NoteStandstill();
  EXPECT_EQ(End(10, {10}), false);
  window_.Begin(At(10), {10});
  EXPECT_EQ(End(20, {20}), true) << "another one";
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d
