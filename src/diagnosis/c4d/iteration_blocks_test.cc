#include "diagnosis/c4d/iteration_blocks.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

namespace fairlead::diagnosis::c4d {
namespace {

// Ranks that take `period` seconds for an iteration with one all-reduce at its end.
class IterationBlocksTest : public testing::Test {
 protected:
  static constexpr size_t kNumRanks = 4;

  void Reduce(uint32_t rank, uint64_t sequence, double period) {
    model::OperationRecord operation;
    operation.communicator = model::CommunicatorId(0);
    operation.kind = model::OperationKind::kAllReduce;
    operation.sequence = sequence;
    blocks_.AddOutput(rank, operation, SimTime::FromSeconds(Seconds(static_cast<double>(sequence) * period)), period,
                      0);
  }
  std::map<uint32_t, size_t> NumBlocks() {
    std::map<uint32_t, size_t> counts;
    for (const BlockSample& sample : blocks_.Take()) ++counts[sample.rank];
    return counts;
  }

  const std::vector<uint32_t> all_ = {0, 1, 2, 3};
  IterationBlocks blocks_{kNumRanks};
};

TEST_F(IterationBlocksTest, BlocksOfEqualIndexAreTheSameIterations) {
  for (uint64_t i = 1; i <= 40; ++i) {
    for (const uint32_t rank : all_) Reduce(rank, i, 0.5);
    blocks_.Learn(all_);
  }
  std::map<uint64_t, size_t> of_index;
  for (const BlockSample& sample : blocks_.Take()) {
    ++of_index[sample.index];
    EXPECT_NEAR(sample.span_seconds, 0.5, 1e-9);
    EXPECT_NEAR(sample.own_seconds, 0.5, 1e-9);
  }
  EXPECT_GE(of_index.size(), 5U);
  for (const auto& [index, count] : of_index) EXPECT_EQ(count, kNumRanks) << index;
}

// Iterations of 9 s: when half of the ranks have reported a few, the others are one behind.
TEST_F(IterationBlocksTest, RanksThatReportedLaterAreWatched) {
  for (uint64_t i = 1; i <= 3; ++i) {
    for (const uint32_t rank : all_) Reduce(rank, i, 9);
  }
  Reduce(0, 4, 9);
  Reduce(1, 4, 9);
  blocks_.Learn(all_);
  EXPECT_TRUE(blocks_.IsKnown(0));
  EXPECT_FALSE(blocks_.IsKnown(2));
  Reduce(2, 4, 9);
  Reduce(3, 4, 9);
  blocks_.Learn(all_);
  for (uint64_t i = 5; i <= 10; ++i) {
    for (const uint32_t rank : all_) Reduce(rank, i, 9);
    blocks_.Learn(all_);
  }
  EXPECT_EQ(NumBlocks(), (std::map<uint32_t, size_t>{{0, 5}, {1, 5}, {2, 5}, {3, 5}}));
}

// Its agent was away at first.
TEST_F(IterationBlocksTest, ARankWhoseTelemetryBeginsLateIsWatched) {
  for (uint64_t i = 1; i <= 100; ++i) {
    for (const uint32_t rank : all_) {
      if (rank != 3 || i > 80) Reduce(rank, i, 1);
    }
    blocks_.Learn(all_);
  }
  EXPECT_TRUE(blocks_.IsKnown(3));
  EXPECT_GE(NumBlocks()[3], 10U);
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d
