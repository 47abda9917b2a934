#include "sim/traffic_in_force.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/simulation_components_example.h"
#include "traffic/ecmp/ecmp_policy.h"

namespace fairlead::sim {
namespace {

// Two jobs that send 1 GB over the uplink behind a second of compute: 2 s an iteration alone.
class TrafficInForceTest : public testing::Test {
 protected:
  TrafficInForceTest() {
    engine_.Begin(example_.watch);
    for (JobState* job : {&first_, &second_}) {
      job->solo = healthy_.yardstick().Find(job->id, iteration_, 2);
      in_force_.Add(job);
    }
  }

  controller::SetTraffic OverTheUplink(const JobState& job) const {
    controller::SetTraffic action;
    action.job = job.id;
    action.paths = example_.PathsOf(*job.iteration);
    return action;
  }
  void Rebuild() { engine_.Rebuild(in_force_.Routed(), in_force_.capacities()); }
  double CarriedByUplink() const { return carried_.carried().total[example_.Uplink()]; }

  OneUplinkExample example_;
  traffic::EcmpPolicy ecmp_;
  HealthyFabric healthy_{example_.fabric, {&ecmp_}, 1, {}};
  RunEngine engine_{example_.fabric, healthy_.capacities(), {.end = AtSimSecond(100), .num_bins = 10}};
  CarriedAccount carried_{example_.fabric, 10, engine_.busy_gpu_seconds().bin_ns()};
  model::Iteration iteration_ = example_.Sending(1, 1);
  JobState first_ = StateOf(1, iteration_);
  JobState second_ = StateOf(2, iteration_);
  TrafficInForce in_force_{example_.fabric, {}, &healthy_, &engine_, &carried_};
};

TEST_F(TrafficInForceTest, PathsMakeRoutes) {
  EXPECT_TRUE(in_force_.RoutesOf(JobId(1)).empty());
  controller::SetTraffic action = OverTheUplink(first_);
  action.level = 3;
  in_force_.Adopt(action);
  EXPECT_EQ(first_.paths, example_.PathsOf(iteration_));
  EXPECT_EQ(first_.level, 3u);
  ASSERT_EQ(in_force_.RoutesOf(JobId(1)).size(), 1u);
  EXPECT_DOUBLE_EQ(in_force_.RoutesOf(JobId(1))[0].top_rate, 1e9);
  const std::vector<RoutedJob> routed = in_force_.Routed();
  ASSERT_EQ(routed.size(), 2u);
  EXPECT_EQ(routed[0].job, &first_);
  EXPECT_EQ(routed[0].routes, &in_force_.RoutesOf(JobId(1)));
  in_force_.Remove(JobId(1));
  EXPECT_EQ(in_force_.Routed().size(), 1u);
}

TEST_F(TrafficInForceTest, LinksThatChangeChangeAllRoutes) {
  for (const JobState* job : {&first_, &second_}) in_force_.Adopt(OverTheUplink(*job));
  topology::LinkHealth health(example_.fabric.num_links(), 1.0);
  health[example_.Uplink()] = 0.25;
  in_force_.SetHealth(health, {});
  for (const JobId job : {JobId(1), JobId(2)}) EXPECT_DOUBLE_EQ(in_force_.RoutesOf(job)[0].top_rate, 0.25e9);
  EXPECT_DOUBLE_EQ(in_force_.capacities()[example_.Uplink()], 0.25e9);
}

// In the middle of its second send the job has sent 1.5 GB, all of it over the uplink; then its path is taken from it.
TEST_F(TrafficInForceTest, BytesAreBookedOnThePathsThatCarriedThem) {
  in_force_.Remove(JobId(2));
  in_force_.Adopt(OverTheUplink(first_));
  Rebuild();
  EXPECT_TRUE(engine_.Advance(AtSimSecond(3.5)).empty());
  controller::SetTraffic none = OverTheUplink(first_);
  none.paths = {{}};
  in_force_.Adopt(none);
  EXPECT_NEAR(CarriedByUplink(), 1.5e9, 10);
  EXPECT_EQ(in_force_.RoutesOf(JobId(1))[0].top_rate, 0);
  EXPECT_TRUE(engine_.has_released());
  // The same paths once more: nobody is stopped for that.
  Rebuild();
  in_force_.Adopt(none);
  EXPECT_FALSE(engine_.has_released());
}

TEST_F(TrafficInForceTest, SharesAreLookedAtWhileQueuePairsBalanceThem) {
  const model::Iteration split = example_.Sending(1, 1, 2);
  JobState job = StateOf(3, split);
  job.solo = healthy_.yardstick().Find(job.id, split, 2);
  in_force_.Add(&job);
  controller::SetTraffic action = OverTheUplink(job);
  action.balances_shares = true;
  in_force_.Adopt(action);
  ASSERT_NE(job.shares, nullptr);
  EXPECT_EQ(job.part_bytes.size(), 2u);
  EXPECT_EQ(in_force_.NextLook(), SimTime::Never());
  in_force_.Wake();
  EXPECT_LT(in_force_.NextLook(), SimTime::Never());
  action.balances_shares = false;
  in_force_.Adopt(action);
  EXPECT_EQ(job.shares, nullptr);
  EXPECT_EQ(in_force_.NextLook(), SimTime::Never());
  // Jobs with one queue pair a connection have nothing to balance.
  controller::SetTraffic plain = OverTheUplink(first_);
  plain.balances_shares = true;
  in_force_.Adopt(plain);
  EXPECT_EQ(first_.shares, nullptr);
}

TEST_F(TrafficInForceTest, AJobThatWaitsForAShiftThatIsNoLongerTrueBeginsItsIteration) {
  in_force_.Adopt(OverTheUplink(first_));
  first_.waits_for_shift = true;
  first_.iteration_start = AtSimSecond(50);
  engine_.Advance(AtSimSecond(4));
  controller::SetTraffic shifted = OverTheUplink(first_);
  shifted.time_shift = traffic::TimeShift{};
  in_force_.Adopt(shifted);
  EXPECT_FALSE(first_.waits_for_shift);
  EXPECT_EQ(first_.iteration_start, AtSimSecond(4));
}

}  // namespace
}  // namespace fairlead::sim
