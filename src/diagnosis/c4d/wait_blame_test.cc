#include "diagnosis/c4d/wait_blame.h"

#include <gtest/gtest.h>

#include <vector>

#include "diagnosis/c4d/job_example.h"

namespace fairlead::diagnosis::c4d {
namespace {

using model::JobLayout;
using model::RankId;

class WaitBlameTest : public ::testing::Test {
 protected:
  void Add(uint32_t communicator, const std::vector<double>& arrivals, int times = 1,
           model::OperationKind kind = model::OperationKind::kAllReduce) {
    std::vector<RankInstants> instants;
    for (const RankId rank : layout_.communicators[communicator].ranks)
      instants.push_back({.rank = rank, .enqueued = {}, .started = {}, .finished = {}});
    const CompletedOperation operation{.communicator = model::CommunicatorId(communicator),
                                       .kind = kind,
                                       .sequence = 0,
                                       .bytes = 0,
                                       .ranks = instants};
    for (int i = 0; i < times; ++i) blame_.Add(operation, arrivals);
  }

  // Hosts of two ranks: communicators 0 {0, 1}, 1 {2, 3} inside, 2 {0, 2}, 3 {1, 3} across.
  JobLayout layout_ = MakeExampleLayout({.hosts = 2, .gpus = 2});
  WaitBlame blame_{layout_, 1};
};

TEST_F(WaitBlameTest, TheBlameTravelsToTheEndOfTheChain) {
  // Rank 1 is 1 s late inside its host, so both of the host are 1 s late for the other one. Three times, of which two
  // are left out. Rank 0: others waited 1 s for it, and it 1 s for rank 1.
  Add(0, {0, 1}, 3);
  Add(1, {0, 0}, 3);
  Add(2, {1, 0}, 3);
  Add(3, {1, 0}, 3);
  const WaitBlame::Blame blame = blame_.Take();
  EXPECT_DOUBLE_EQ(blame.seconds[0], 0);
  EXPECT_DOUBLE_EQ(blame.seconds[1], 1);
  EXPECT_DOUBLE_EQ(blame.seconds[2], -1);
  EXPECT_DOUBLE_EQ(blame.seconds[3], -1);
  EXPECT_TRUE(blame.is_known[1]);
}

TEST_F(WaitBlameTest, TwoStallsAreLeftOut) {
  Add(2, {0, 0.1}, 4);
  Add(2, {50, 0}, 2);
  const WaitBlame::Blame blame = blame_.Take();
  EXPECT_NEAR(blame.seconds[2], 0.4, 1e-12);
  EXPECT_NEAR(blame.seconds[0], -0.4, 1e-12);
}

// Slow jobs have few operations of each kind in a window.
TEST_F(WaitBlameTest, OperationsOfAllKindsOnACommunicatorCountTogether) {
  Add(2, {0, 1}, 3, model::OperationKind::kReduceScatter);
  Add(2, {0, 1}, 3, model::OperationKind::kAllGather);
  // Of six two are left out.
  EXPECT_DOUBLE_EQ(blame_.Take().seconds[2], 4);
}

TEST_F(WaitBlameTest, WhatWasTakenIsForgotten) {
  Add(2, {0, 1}, 5);
  EXPECT_DOUBLE_EQ(blame_.Take().seconds[2], 3);
  const WaitBlame::Blame blame = blame_.Take();
  EXPECT_DOUBLE_EQ(blame.seconds[2], 0);
  EXPECT_FALSE(blame.is_known[2]);
}

TEST_F(WaitBlameTest, ASharedShiftOfArrivalsChangesNothing) {
  Add(2, {0, 1}, 5);
  const std::vector<double> seconds = blame_.Take().seconds;
  Add(2, {128, 129}, 5);
  EXPECT_EQ(blame_.Take().seconds, seconds);
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d
