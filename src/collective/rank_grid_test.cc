#include "collective/rank_grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace fairlead::collective {
namespace {

using ::testing::HasSubstr;
using Gpus = std::vector<uint32_t>;

Gpus GpusOf(const Communicator& group) {
  Gpus gpus;
  for (const RankPlace& rank : group) gpus.push_back(rank.gpu.value());
  return gpus;
}

std::vector<Gpus> GpusOf(const std::vector<Communicator>& groups) {
  std::vector<Gpus> gpus;
  gpus.reserve(groups.size());
  for (const Communicator& group : groups) gpus.push_back(GpusOf(group));
  return gpus;
}

std::string ErrorOf(const RankLayout& layout, const model::Parallelism& parallelism) {
  const auto grid = RankGrid::Create(layout, parallelism);
  return grid.ok() ? "" : grid.status().message();
}

// 2 x 4 x 2 on 16 GPUs by hand: rank = t + 2 (d + 4 p).
TEST(RankGridTest, MegatronOrder) {
  const auto grid =
      RankGrid::Create(MakeRegularLayout(2, 8), {.tensor = 2, .pipeline = 2, .data = 4, .expert = 2}).value();
  EXPECT_EQ(grid.At(1, 2, 1).gpu, GpuId(1 + 2 * (2 + 4 * 1)));
  EXPECT_EQ(GpusOf(grid.TensorGroups()),
            (std::vector<Gpus>{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {12, 13}, {14, 15}}));
  EXPECT_EQ(GpusOf(grid.DataGroups()),
            (std::vector<Gpus>{{0, 2, 4, 6}, {1, 3, 5, 7}, {8, 10, 12, 14}, {9, 11, 13, 15}}));
  EXPECT_EQ(GpusOf(grid.ExpertGroups()),
            (std::vector<Gpus>{{0, 2}, {4, 6}, {1, 3}, {5, 7}, {8, 10}, {12, 14}, {9, 11}, {13, 15}}));
  EXPECT_EQ(GpusOf(grid.ExpertDataGroups()),
            (std::vector<Gpus>{{0, 4}, {2, 6}, {1, 5}, {3, 7}, {8, 12}, {10, 14}, {9, 13}, {11, 15}}));
  const auto boundaries = grid.PipelineBoundaries();
  ASSERT_EQ(boundaries.size(), 8u);
  for (uint32_t i = 0; i < 8; ++i) {
    EXPECT_EQ(boundaries[i].first.gpu, GpuId(i));
    EXPECT_EQ(boundaries[i].second.gpu, GpuId(i + 8));
  }
}

TEST(RankGridTest, EveryRankIsInOneGroupOfEachKind) {
  for (uint32_t t : {1, 2, 4, 8}) {
    for (uint32_t p : {1, 2, 3}) {
      for (uint32_t d : {1, 2, 4, 6}) {
        for (uint32_t e : {1, 2}) {
          if (d % e != 0 || t * p * d % 8 != 0) continue;
          const auto grid = RankGrid::Create(MakeRegularLayout(t * p * d / 8, 8),
                                             {.tensor = t, .pipeline = p, .data = d, .expert = e})
                                .value();
          for (const auto& [groups, size] :
               {std::pair(grid.TensorGroups(), t), std::pair(grid.DataGroups(), d), std::pair(grid.ExpertGroups(), e),
                std::pair(grid.ExpertDataGroups(), d / e)}) {
            std::set<GpuId> seen;
            for (const Communicator& group : groups) {
              EXPECT_EQ(group.size(), size);
              for (const RankPlace& rank : group) EXPECT_TRUE(seen.insert(rank.gpu).second);
            }
            EXPECT_EQ(seen.size(), size_t{t} * p * d);
          }
        }
      }
    }
  }
}

TEST(RankGridTest, RefusesSizesThatDoNotFitWithAClearMessage) {
  const RankLayout layout = MakeRegularLayout(2, 8);
  EXPECT_EQ(ErrorOf(layout, {.tensor = 8, .pipeline = 2, .data = 2}),
            "parallelism: tensor 8 * pipeline 2 * data 2 is not the number of GPUs, 16");
  EXPECT_THAT(ErrorOf(layout, {.tensor = 0, .data = 16}), HasSubstr("at least 1"));
  EXPECT_EQ(ErrorOf(layout, {.data = 16, .expert = 3}), "parallelism: expert 3 does not divide data 16");
  // 2^16 * 2^16 * 2^16 would overflow 32 and, with one more factor, 64 bits.
  EXPECT_THAT(ErrorOf(layout, {.tensor = 1u << 31, .pipeline = 1u << 31, .data = 1u << 31}),
              HasSubstr("not the number"));
}

TEST(RankGridTest, TensorGroupsMayCoverHostsEvenlyOnly) {
  EXPECT_EQ(ErrorOf(MakeRegularLayout(2, 8), {.tensor = 16}), "");  // two whole hosts
  EXPECT_EQ(ErrorOf(MakeRegularLayout(4, 4), {.tensor = 8, .data = 2}), "");
  // Hosts of 6: the first group of 8 has 6 + 2.
  EXPECT_THAT(ErrorOf(MakeRegularLayout(4, 6), {.tensor = 8, .data = 3}),
              HasSubstr("a tensor group of 8 GPUs lies unevenly on 2 hosts (6 GPUs on one, 2 on another)"));
}

}  // namespace
}  // namespace fairlead::collective
