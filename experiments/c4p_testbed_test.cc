// C4P on its testbed: orders and laws of what its experiments measure, over shorter times.
#include "experiments/c4p_testbed.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <numeric>

#include "sim/scenario_runner.h"

namespace fairlead::experiments {
namespace {

sim::SimulationReport Simulate(const sim::Scenario& scenario) {
  const std::atomic<bool> never = false;
  return sim::RunScenario(scenario, {.num_threads = 2}, never, nullptr).value();
}

const sim::RunResult& RunOf(const sim::SimulationReport& report, std::string_view policy) {
  for (const sim::RunResult& run : report.runs) {
    if (run.policy == policy) return run;
  }
  ADD_FAILURE() << "no run of " << policy;
  return report.runs.front();
}

// 1:1 and even paths: no job holds another back. The bound is 98 % of what a job alone gets.
TEST(C4pTestbedTest, EightJobsGetTheirNicsAtOneToOne) {
  C4pTestbed testbed;
  testbed.num_seeds = 2;
  testbed.simulated_s = 3;
  const auto scenario = MakeC4pScenario(testbed);
  ASSERT_TRUE(scenario.ok()) << scenario.status().message();
  const sim::SimulationReport report = Simulate(*scenario);
  const Bandwidths with = MeasureBandwidths(report, "c4p");
  const Bandwidths without = MeasureBandwidths(report, "ecmp");
  EXPECT_GE(with.worst, 0.98 * kCeilingGbps);
  EXPECT_LE(with.best, kCeilingGbps * (1 + 1e-6));
  EXPECT_LT(without.best, with.worst);
  EXPECT_LT(without.worst, without.best);
}

// Uplinks half as fast are the bound for all, and even paths fill every one of them.
TEST(C4pTestbedTest, EightJobsShareTheUplinksAtTwoToOne) {
  C4pTestbed testbed;
  testbed.uplink_gbps = 400;
  testbed.num_seeds = 1;
  testbed.simulated_s = 3;
  const auto scenario = MakeC4pScenario(testbed);
  ASSERT_TRUE(scenario.ok()) << scenario.status().message();
  const sim::SimulationReport report = Simulate(*scenario);
  EXPECT_NEAR(MeasureBandwidths(report, "c4p").mean, kCeilingGbps / 2, 0.02 * kCeilingGbps / 2);
  EXPECT_LT(MeasureBandwidths(report, "ecmp").mean, 0.8 * kCeilingGbps / 2);
}

// An uplink of each of two leaves is lost in the middle of a collective.
class C4pLinkFailureTest : public testing::Test {
 protected:
  static sim::Scenario MakeScenario(double simulated_s) {
    C4pTestbed testbed;
    testbed.num_seeds = 1;
    testbed.simulated_s = simulated_s;
    testbed.policies = {"c4p", "c4p-static"};
    sim::Scenario scenario = MakeC4pScenario(testbed).value();
    scenario.simulation.num_hottest_links = static_cast<uint32_t>(scenario.fabric.num_links());
    // 1 GB at 360 Gb/s takes 22.2 ms and is moved three times per iteration: 1.01 s is inside a phase.
    LoseUplinks(SimTime::FromSeconds(Seconds(1.01)), &scenario);
    return scenario;
  }
};

// Whatever is cut off, moved or shared again, the bytes that a link carried over time add up to its total, and what
// leaves hosts upwards arrives downwards.
TEST_F(C4pLinkFailureTest, BytesAreKept) {
  const sim::Scenario scenario = MakeScenario(4);
  for (const sim::RunResult& run : Simulate(scenario).runs) {
    double sent = 0;
    double received = 0;
    for (const sim::LinkResult& link : run.links) {
      const double mean = std::accumulate(link.utilization_over_time.begin(), link.utilization_over_time.end(), 0.0) /
                          static_cast<double>(link.utilization_over_time.size());
      EXPECT_NEAR(mean, link.utilization, 1e-4) << run.policy << ", " << link.name;
      const double bytes = link.utilization * link.capacity_bytes_per_s * run.simulated_s;
      const topology::Fabric& fabric = scenario.fabric;
      if (fabric.kind(fabric.source(link.id)) == topology::NodeKind::kNic) sent += bytes;
      if (fabric.kind(fabric.destination(link.id)) == topology::NodeKind::kNic) received += bytes;
    }
    EXPECT_GT(sent, 0) << run.policy;
    EXPECT_NEAR(received / sent, 1, 1e-9) << run.policy;
  }
}

// 7/8 of the uplinks are left: 315 Gb/s. A connection that stays where its hash sends it gets less.
TEST_F(C4pLinkFailureTest, SharesAndPathsFindTheRestOfTheUplinks) {
  const sim::SimulationReport report = Simulate(MakeScenario(12));
  const auto settled = [](const sim::RunResult& run) {
    // Bus bandwidth of the last quarter, from the bytes that leave the NICs of one job.
    double sum = 0;
    size_t count = 0;
    for (const sim::LinkResult& link : run.links) {
      if (!link.name.starts_with("h0/nic")) continue;
      const auto& bins = link.utilization_over_time;
      for (size_t b = bins.size() * 3 / 4; b < bins.size(); ++b, ++count) {
        sum += bins[b] * link.capacity_bytes_per_s * 8e-9;
      }
    }
    return 2 * sum / static_cast<double>(count);  // two ports
  };
  const double with = settled(RunOf(report, "c4p"));
  EXPECT_GE(with, 0.95 * kCeilingGbps * 7 / 8);
  EXPECT_LT(settled(RunOf(report, "c4p-static")), with);
  // A leaf has 8 hosts x 4 rails x 4 queue pairs a port, up and down, evenly over 8 spines: 32 are lost with one of
  // them. That leaves seven spines evenly loaded at the near leaf, and at the far one, so that few others have to move.
  const uint64_t moved = RunOf(report, "c4p").path_changes;
  EXPECT_GE(moved, 2 * 32u);
  EXPECT_LE(moved, 2 * 2 * 32u);
}

// Jumping ahead changes nothing that a user sees, although shares move while jobs repeat themselves.
TEST_F(C4pLinkFailureTest, FastForwardAgreesWithSimulatingEveryIteration) {
  sim::Scenario scenario = MakeScenario(6);
  scenario.policies = {"c4p"};
  const sim::SimulationReport fast = Simulate(scenario);
  scenario.simulation.fast_forward = false;
  const sim::SimulationReport exact = Simulate(scenario);
  EXPECT_EQ(exact.runs.front().fast_forward_fraction, 0);
  ASSERT_EQ(fast.runs.front().jobs.size(), 8u);
  for (size_t j = 0; j < 8; ++j) {
    const double expected = exact.runs.front().jobs[j].iteration_s;
    EXPECT_NEAR(fast.runs.front().jobs[j].iteration_s / expected, 1, 0.005) << "job " << j;
  }
}

}  // namespace
}  // namespace fairlead::experiments
