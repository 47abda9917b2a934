#include "sim/carried_account.h"

#include <gtest/gtest.h>

#include <numeric>

#include "sim/simulation_components_example.h"

namespace fairlead::sim {
namespace {

// Ten bins of a second; a job sends 4 GB an iteration.
class CarriedAccountTest : public testing::Test {
 protected:
  double TotalOfUplink() const { return account_.carried().total[example_.Uplink()]; }
  const std::vector<float>& BinsOfUplink() const { return account_.carried().bins[example_.Uplink()]; }

  OneUplinkExample example_;
  model::Iteration iteration_ = example_.Sending(0, 4);
  JobState job_ = StateOf(0, iteration_);
  CarriedAccount account_{example_.fabric, 10, 1'000'000'000};
};

TEST_F(CarriedAccountTest, WhatRunsOfAPhaseHaveSentIsBookedOnceWhereAndWhenItWentThere) {
  job_.paths = example_.PathsOf(iteration_);
  job_.phase_runs[0] = 2;
  job_.activity[0][1] = 1.5;  // of a run
  job_.activity[0][2] = 0.5;
  account_.Settle(job_, AtSimSecond(3));
  EXPECT_DOUBLE_EQ(TotalOfUplink(), 8e9);
  EXPECT_FLOAT_EQ(BinsOfUplink()[1], 6e9f);
  EXPECT_FLOAT_EQ(BinsOfUplink()[2], 2e9f);
  EXPECT_FLOAT_EQ(std::accumulate(BinsOfUplink().begin(), BinsOfUplink().end(), 0.0f), 8e9f);
  account_.Settle(job_, AtSimSecond(3));
  EXPECT_DOUBLE_EQ(TotalOfUplink(), 8e9);
  // The way back carries nothing.
  EXPECT_EQ(account_.carried().total[example_.fabric.FindLink("spine0->leaf0")], 0);
}

TEST_F(CarriedAccountTest, ARunUnderWayIsBookedInTwoPartsThatAddUp) {
  job_.paths = example_.PathsOf(iteration_);
  job_.is_phase_running = true;
  job_.remaining[0] = 1e9;
  account_.Settle(job_, AtSimSecond(3));
  EXPECT_DOUBLE_EQ(TotalOfUplink(), 3e9);
  job_.is_phase_running = false;
  job_.remaining[0] = 0;
  job_.phase_runs[0] = 1;
  job_.activity[0][3] = 0.25;
  account_.Settle(job_, AtSimSecond(4));
  EXPECT_DOUBLE_EQ(TotalOfUplink(), 4e9);
}

TEST_F(CarriedAccountTest, NothingIsBookedWithoutPathsOrBeforeTheJobBegins) {
  job_.phase_runs[0] = 1;
  account_.Settle(job_, AtSimSecond(3));
  job_.paths = example_.PathsOf(iteration_);
  job_.settled_at = AtSimSecond(5);
  account_.Settle(job_, AtSimSecond(4));
  EXPECT_EQ(TotalOfUplink(), 0);
  EXPECT_EQ(job_.phase_runs[0], 1u) << "and nothing is forgotten";
}

}  // namespace
}  // namespace fairlead::sim
