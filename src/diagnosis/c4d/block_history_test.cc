#include "diagnosis/c4d/block_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace fairlead::diagnosis::c4d {
namespace {

using model::RankId;
using testing::SizeIs;

SimTime At(int64_t seconds) { return SimTime(seconds * 1'000'000'000); }

BlockSample Sample(uint32_t rank, double own_seconds) {
  BlockSample sample;
  sample.rank = rank;
  sample.own_seconds = own_seconds;
  return sample;
}

TEST(BlockHistoryTest, TheAccusedIsComparedWithTheOthersOfItsRole) {
  BlockHistory history(6);
  history.SetTime(At(7));
  // Two pieces: what is shown is of one.
  history.Add(1, std::array{Sample(1, 8), Sample(2, 2), Sample(3, 4), Sample(4, 6), Sample(5, 10)}, 12, 2);
  history.Add(0, std::array{Sample(0, 5)}, 5, 1);
  const std::array accused = {RankId(1), RankId(2)};
  const auto blocks = history.Of(1, accused);
  ASSERT_THAT(blocks, SizeIs(1));
  EXPECT_EQ(blocks[0], (model::IterationBlock{.at = At(7),
                                              .seconds = 6,
                                              .own_seconds = 4,
                                              .like_low_seconds = 2,
                                              .like_median_seconds = 3,
                                              .like_high_seconds = 5}));
  EXPECT_EQ(history.Of(1, {}).at(0).own_seconds, std::nullopt);
  EXPECT_THAT(history.Of(7, {}), SizeIs(0));
  const auto alone = history.Of(0, std::array{RankId(0)});
  EXPECT_EQ(alone.at(0).own_seconds, 5);
  EXPECT_EQ(alone.at(0).like_median_seconds, std::nullopt);
  history.Clear();
  EXPECT_THAT(history.Of(1, {}), SizeIs(0));
}

TEST(BlockHistoryTest, TheLatestAreKeptFewerOfALargeJob) {
  for (const size_t num_ranks : {size_t{8}, BlockHistory::kRanksMany + 1}) {
    BlockHistory history(num_ranks);
    for (int64_t i = 0; i < 1000; ++i) {
      history.SetTime(At(i));
      history.Add(0, std::array{Sample(0, 1)}, 1, 1);
    }
    const auto blocks = history.Of(0, {});
    EXPECT_THAT(blocks, SizeIs(num_ranks == 8 ? BlockHistory::kBlocksMax : BlockHistory::kBlocksMax / 4));
    EXPECT_EQ(blocks.back().at, At(999));
  }
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d
