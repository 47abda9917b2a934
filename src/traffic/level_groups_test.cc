#include "traffic/level_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace fairlead::traffic {
namespace {

using testing::ElementsAre;

std::vector<uint32_t> Levels(LevelRule rule, size_t num_jobs, uint32_t num_levels) {
  std::vector<uint32_t> levels;
  for (size_t rank = 0; rank < num_jobs; ++rank) levels.push_back(LevelOfRank(rule, rank, num_jobs, num_levels));
  return levels;
}

// Figure 13 of the Crux paper, four jobs and two levels: Sincronia {1,0,0,0}, Varys {1,1,0,0} with 1 on top.
TEST(LevelGroupsTest, Figure13) {
  EXPECT_THAT(Levels(LevelRule::kTopRanks, 4, 2), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(Levels(LevelRule::kEqualGroups, 4, 2), ElementsAre(0, 0, 1, 1));
}

TEST(LevelGroupsTest, LevelsAreLegalAndNeverFallWithRank) {
  for (const LevelRule rule : {LevelRule::kTopRanks, LevelRule::kEqualGroups}) {
    for (size_t num_jobs = 1; num_jobs < 20; ++num_jobs) {
      for (uint32_t num_levels = 1; num_levels < 12; ++num_levels) {
        const std::vector<uint32_t> levels = Levels(rule, num_jobs, num_levels);
        EXPECT_EQ(levels.front(), 0u);
        EXPECT_LT(levels.back(), num_levels);
        EXPECT_TRUE(std::is_sorted(levels.begin(), levels.end()));
      }
    }
  }
}

TEST(LevelGroupsTest, GroupsAreOfEqualSize) {
  EXPECT_THAT(Levels(LevelRule::kEqualGroups, 6, 3), ElementsAre(0, 0, 1, 1, 2, 2));
  EXPECT_THAT(Levels(LevelRule::kTopRanks, 6, 3), ElementsAre(0, 1, 2, 2, 2, 2));
}

}  // namespace
}  // namespace fairlead::traffic
