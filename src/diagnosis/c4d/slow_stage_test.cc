#include "diagnosis/c4d/slow_stage.h"

#include <gtest/gtest.h>

#include <vector>

namespace fairlead::diagnosis::c4d {
namespace {

// Rank 10 + i is stage i.
std::vector<StageShare> Stages(const std::vector<double>& shares) {
  std::vector<StageShare> stages;
  for (uint32_t i = 0; i < shares.size(); ++i) stages.push_back({.stage = i, .rank = 10 + i, .share = shares[i]});
  return stages;
}

TEST(SlowStageTest, AStageThatStandsOutOfItsLike) {
  const std::optional<SlowStage> slow = FindSlowStage(Stages({0.2, 0.5, 0.76, 0.51, 0.5, 0.5, 0.34}));
  ASSERT_TRUE(slow.has_value());
  EXPECT_EQ(slow->rank, 12u);
  EXPECT_NEAR(slow->beyond, 0.25, 1e-9);
}

TEST(SlowStageTest, StagesThatDifferByNatureAreNone) {
  EXPECT_FALSE(FindSlowStage(Stages({0.5, 0.5, 0.6, 0.51, 0.5, 0.5, 0.5}))) << "GPUs differ";
  EXPECT_FALSE(FindSlowStage(Stages({0.2, 0.5, 0.8, 0.7, 0.5, 0.5, 0.3}))) << "two have more layers";
  EXPECT_FALSE(FindSlowStage(Stages({0.5, 0.5, 0.5, 0.51, 0.5, 0.5, 0.8}))) << "the last one has the head";
  EXPECT_FALSE(FindSlowStage(Stages({0.8, 0.5, 0.5, 0.51, 0.5, 0.5, 0.5}))) << "the first one has an encoder";
  EXPECT_FALSE(FindSlowStage(Stages({0.5, 0.3, 0.4, 0.31, 0.3, 0.3, 0.8}))) << "the pipeline waits for the last one";
}

TEST(SlowStageTest, FewStagesTellNothing) {
  EXPECT_FALSE(FindSlowStage({}));
  EXPECT_FALSE(FindSlowStage(Stages({0.5, 0.8, 0.5, 0.5, 0.5})));
  EXPECT_TRUE(FindSlowStage(Stages({0.5, 0.8, 0.5, 0.5, 0.5, 0.5})));
}

TEST(SlowStageTest, OrderDoesNotMatter) {
  std::vector<StageShare> stages = Stages({0.9, 0.5, 0.5, 0.76, 0.5, 0.5, 0.5});
  std::swap(stages[0], stages[3]);
  EXPECT_FALSE(FindSlowStage(stages));
  stages = Stages({0.7, 0.5, 0.5, 0.76, 0.5, 0.5, 0.5});
  std::swap(stages[0], stages[3]);
  EXPECT_TRUE(FindSlowStage(stages));
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d
