#include "controller/level_planner.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>

#include "controller/traffic_components_example.h"
#include "traffic/policy_registry.h"

namespace fairlead::controller {
namespace {

constexpr SimDuration kPeriod(2'000'000'000);

JobMeasured Measured(double iteration_s, double compute_s, double flop, std::vector<uint64_t> connections) {
  JobMeasured message = {.job = "any", .num_gpus = 1, .profile = {}, .connections = std::move(connections)};
  message.profile.iteration_time = Seconds(iteration_s);
  message.profile.compute_time = Seconds(compute_s);
  message.profile.work = Flop(flop);
  message.profile.flow_bytes.assign(message.connections.size(), Bytes(1e9));
  return message;
}

TEST(JobMeasurementsTest, ValuesAreSmoothedPerSecond) {
  JobMeasurements measurements(0.5);
  const std::set<uint64_t> held = {1};
  EXPECT_TRUE(measurements.empty());
  EXPECT_EQ(measurements.Sum(JobId(0), 1), std::nullopt);
  measurements.Add(JobId(0), HostId(0), Measured(1, 0.5, 100, {1, 2}), held, 8);
  // Two iterations that were taken for one: the same speed.
  measurements.Add(JobId(0), HostId(0), Measured(2, 1.0, 200, {1}), held, 8);
  const auto sum = measurements.Sum(JobId(0), 1);
  ASSERT_TRUE(sum.has_value());
  EXPECT_EQ(sum->iteration_time, Seconds(1)) << "the lower one of two in the middle";
  EXPECT_EQ(sum->compute_share, 0.5);
  EXPECT_EQ(sum->work, FlopPerSecond(100));
  // 1e9 bytes in 1 s, then in 2 s: halfway between 1e9 and 0.5e9 per second. Connection 2 is not held.
  EXPECT_EQ(measurements.FindBytes(JobId(0)), (std::map<uint64_t, BytesPerSecond>{{1, BytesPerSecond(0.75e9)}}));
  measurements.RemoveConnection(JobId(0), HostId(0), 1);
  EXPECT_TRUE(measurements.FindBytes(JobId(0)).empty());
  measurements.RemoveHost(JobId(0), HostId(0));
  EXPECT_TRUE(measurements.empty());
}

// A busy machine hides an iteration, or two look like one: neither is a change of the job.
TEST(JobMeasurementsTest, AnIterationThatWasNotSeenIsNoLongOne) {
  JobMeasurements measurements(0.5);
  const auto add = [&](double iteration_s, bool is_period_known) {
    JobMeasured message = Measured(iteration_s, iteration_s / 2, 100 * iteration_s, {});
    message.profile.is_period_known = is_period_known;
    measurements.Add(JobId(0), HostId(0), message, {}, 8);
    return *measurements.Sum(JobId(0), 1);
  };
  EXPECT_FALSE(add(10, false).is_period_known) << "nothing was seen yet";
  EXPECT_EQ(add(0.4, true).iteration_time, Seconds(0.4)) << "the first one counts as it is";
  for (const double period : {0.41, 0.4, 0.39}) EXPECT_NEAR(add(period, true).iteration_time.value(), 0.4, 0.011);
  EXPECT_NEAR(add(10, false).iteration_time.value(), 0.4, 0.011);
  EXPECT_NEAR(add(1.6, true).iteration_time.value(), 0.4, 0.011);
  const JobMeasurement kept = add(1.2, true);
  EXPECT_NEAR(kept.iteration_time.value(), 0.4, 0.011);
  EXPECT_TRUE(kept.is_period_known);
  EXPECT_DOUBLE_EQ(kept.work.value(), 100) << "work is by time, whatever an iteration is";
  EXPECT_EQ(add(0.8, true).iteration_time, Seconds(0.8)) << "three of five";
  for (size_t i = 0; i < kPeriodsMissedMax; ++i) EXPECT_TRUE(add(10, false).is_period_known);
  EXPECT_FALSE(add(10, false).is_period_known);
  EXPECT_EQ(add(10, false).iteration_time, Seconds(10));
  EXPECT_EQ(add(3, true).iteration_time, Seconds(3)) << "what was forgotten does not count";
}

TEST(JobMeasurementsTest, HostsThatAreMissingCountAsTheMeanOfTheOthers) {
  JobMeasurements measurements(1);
  measurements.Add(JobId(0), HostId(0), Measured(1, 0.1, 100, {}), {}, 8);
  measurements.Add(JobId(0), HostId(1), Measured(3, 0.3, 900, {}), {}, 0);
  EXPECT_EQ(measurements.NumHosts(JobId(0)), 2u);
  const auto sum = measurements.Sum(JobId(0), 4);
  ASSERT_TRUE(sum.has_value());
  EXPECT_EQ(sum->work, FlopPerSecond(800)) << "(100 + 300) x 4 / 2";
  EXPECT_EQ(sum->iteration_time, Seconds(1)) << "the lower one of two in the middle";
  EXPECT_EQ(sum->num_gpus, 1u) << "no more than a host has";
  measurements.Forget(JobId(0));
  EXPECT_TRUE(measurements.empty());
}

TEST(JobMeasurementsTest, WhatCannotBeMeasuredIsNamed) {
  EXPECT_EQ(JobMeasurements::FindFault(Measured(1, 0.5, 1, {1})), "");
  EXPECT_EQ(JobMeasurements::FindFault(Measured(0, 0.5, 1, {1})), "an iteration of 0 s");
  EXPECT_NE(JobMeasurements::FindFault(Measured(1, -1, 1, {1})), "");
  EXPECT_NE(JobMeasurements::FindFault(Measured(1, 1, std::numeric_limits<double>::infinity(), {1})), "");
  JobMeasured message = Measured(1, 0.5, 1, {1});
  message.connections.clear();
  EXPECT_EQ(JobMeasurements::FindFault(message), "bytes of 1 connections, but names of 0");
}

// Jobs a (host 0 to 3) and b (host 1 to 4) meet on a link between leaf and spine; b computes ten times as much.
class LevelPlannerTest : public ::testing::Test {
 protected:
  LevelPlannerTest() {
    a_ = example_.AddJob("a", ComponentExample::Request(1, 0, 3));
    b_ = example_.AddJob("b", ComponentExample::Request(2, 1, 4));
    Hold(a_, 1, 0, 3);
    Hold(b_, 2, 1, 4);
  }

  // Over the first spine.
  void Hold(JobId job, uint64_t connection, uint32_t from, uint32_t to) {
    const topology::Router router(example_.fabric);
    model::Path path;
    router.AppendPath(GpuId(from), GpuId(to), 0, &path);
    std::vector<LinkId> links;
    for (const LinkId link : path) {
      if (topology::IsNetwork(example_.fabric.tier(link))) links.push_back(link);
    }
    example_.paths.held.push_back(
        {{HostId(from), job}, ComponentExample::Request(connection, from, to), std::move(links)});
  }
  void MeasureBoth() {
    planner_.Measure(a_, HostId(0), Measured(1, 0.5, 1e12, {1}));
    planner_.Measure(b_, HostId(1), Measured(1, 0.5, 1e13, {2}));
  }
  LevelPlanner Create(const LevelPlannerOptions& options) {
    return {example_.fabric, example_.paths, example_.jobs, *policy_, options};
  }

  ComponentExample example_;
  JobId a_;
  JobId b_;
  std::unique_ptr<traffic::TrafficPolicy> policy_ = traffic::CreatePolicy("crux-levels", {}).value();
  LevelPlanner planner_ = Create({});
};

TEST_F(LevelPlannerTest, WhoComputesMoreForItsTrafficGoesFirst) {
  EXPECT_TRUE(planner_.PlanIfDue(SimTime()).empty()) << "nothing is measured";
  MeasureBoth();
  const std::vector<traffic::JobPlan> plans = planner_.PlanIfDue(SimTime());
  ASSERT_EQ(plans.size(), 2u);
  EXPECT_EQ(plans[0].id, a_);
  EXPECT_GT(plans[0].level, plans[1].level);
  EXPECT_GT(planner_.FindIntensity(b_).value(), planner_.FindIntensity(a_).value());
  EXPECT_EQ(planner_.FindFastestIteration(a_), Seconds(1));
  EXPECT_EQ(planner_.Sum(a_)->num_gpus, 1u);
}

TEST_F(LevelPlannerTest, ThereIsAPlanWhenSomethingChangedAndTheTimeHasCome) {
  MeasureBoth();
  EXPECT_EQ(planner_.PlanIfDue(SimTime()).size(), 2u);
  EXPECT_TRUE(planner_.PlanIfDue(SimTime() + kPeriod).empty()) << "nothing has changed";
  planner_.MarkStale();
  EXPECT_TRUE(planner_.PlanIfDue(SimTime() + kPeriod - SimDuration(1)).empty()) << "too soon";
  EXPECT_EQ(planner_.PlanIfDue(SimTime() + kPeriod).size(), 2u);
  // A connection more changes the table.
  example_.jobs.AddConnection(a_, HostId(2), ComponentExample::Request(9, 2, 5));
  EXPECT_EQ(planner_.PlanIfDue(SimTime() + kPeriod * 2).size(), 2u);
  planner_.SetHealth(LinkId(0), 0.5);
  EXPECT_EQ(planner_.PlanIfDue(SimTime() + kPeriod * 3).size(), 2u);
}

TEST_F(LevelPlannerTest, AJobWithoutAKnownPathIsNotPlanned) {
  MeasureBoth();
  example_.paths.held[1].links.clear();
  EXPECT_EQ(planner_.PlanIfDue(SimTime()).size(), 1u);
  EXPECT_EQ(planner_.FindIntensity(b_), std::nullopt);
}

TEST_F(LevelPlannerTest, ForgottenJobsLeaveNothing) {
  MeasureBoth();
  planner_.PlanIfDue(SimTime());
  example_.jobs.RemoveConnection(a_, HostId(0), 1);
  planner_.RemoveConnection(a_, HostId(0), 1);
  planner_.RemoveHost(a_, HostId(0));
  ASSERT_TRUE(example_.jobs.ForgetIfUnused(a_));
  planner_.Forget(a_);
  EXPECT_EQ(planner_.FindFastestIteration(a_), std::nullopt);
  const std::vector<traffic::JobPlan> plans = planner_.PlanIfDue(SimTime() + kPeriod);
  ASSERT_EQ(plans.size(), 1u);
  EXPECT_EQ(plans[0].id, b_);
}

TEST_F(LevelPlannerTest, WhereLevelsAreNotSetJobsAreStillWeighed) {
  LevelPlanner planner = Create({.sets_levels = false});
  planner.Measure(a_, HostId(0), Measured(1, 0.5, 1e12, {1}));
  EXPECT_TRUE(planner.PlanIfDue(SimTime()).empty());
  EXPECT_TRUE(planner.FindIntensity(a_).has_value());
}

}  // namespace
}  // namespace fairlead::controller
