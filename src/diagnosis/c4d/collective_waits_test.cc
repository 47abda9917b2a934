#include "diagnosis/c4d/collective_waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "diagnosis/c4d/job_example.h"

namespace fairlead::diagnosis::c4d {
namespace {

using model::OperationKind;
using model::RankId;
using testing::Each;

// Rank 1 comes `late_s` after rank 0; both leave a second after operation `i` began. Rank 1's clock shows 5 s more.
std::vector<RankInstants> LateSecondRank(int i, double late_s) {
  const auto at = [](double t) { return SimTime::FromSeconds(Seconds(100 + t)); };
  return {{RankId(0u), at(i), at(i), at(i + 1)}, {RankId(1u), at(i + 5), at(i + 5 + late_s), at(i + 6)}};
}

CompletedOperation OperationOf(std::span<const RankInstants> ranks, OperationKind kind = OperationKind::kAllReduce) {
  return {.communicator = model::CommunicatorId(2u), .kind = kind, .sequence = 0, .bytes = 0, .ranks = ranks};
}

// Two of eight operations are left out (WaitBlame), so 6 * 0.1 s are left: for the one, and from the other.
TEST(CollectiveWaitsTest, BothKindsOfClocksTellForWhomWasWaited) {
  const model::JobLayout layout = MakeExampleLayout({.hosts = 2, .gpus = 1});
  CollectiveWaits waits(layout, 4);
  for (int i = 0; i < 8; ++i) waits.Add(OperationOf(LateSecondRank(i, 0.1)));
  const CollectiveWaits::Blames blames = waits.Take();
  for (const WaitBlame::Blame& blame : {blames.by_time_inside, blames.by_start}) {
    EXPECT_THAT(blame.is_known, Each(true));
    EXPECT_NEAR(blame.seconds[0], -0.6, 1e-6);
    EXPECT_NEAR(blame.seconds[1], 0.6, 1e-6);
  }
  EXPECT_THAT(waits.Take().by_start.is_known, Each(false)) << "it is forgotten";
}

TEST(CollectiveWaitsTest, WhatCannotBeIsLeftOut) {
  const model::JobLayout layout = MakeExampleLayout({.hosts = 2, .gpus = 1});
  CollectiveWaits waits(layout, 1);
  for (int i = 0; i < 8; ++i) {
    std::vector<RankInstants> ranks = LateSecondRank(i, 0.1);
    waits.Add(OperationOf(ranks, OperationKind::kSend));
    waits.Add(OperationOf(std::span(ranks).first(1)));
    ranks[1].started = ranks[1].finished + SimDuration(1);
    waits.Add(OperationOf(ranks));
    ranks = LateSecondRank(i, 0.1);
    ranks[1].rank = RankId(2u);
    waits.Add(OperationOf(ranks));
  }
  const CollectiveWaits::Blames blames = waits.Take();
  EXPECT_THAT(blames.by_time_inside.is_known, Each(false));
  EXPECT_THAT(blames.by_start.is_known, Each(false));
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d
