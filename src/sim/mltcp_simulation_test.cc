// MLTCP simulated: closed forms of two and three jobs on one link (specification "rivals and fabrics", section 2).
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "sim/one_cable_example.h"

namespace fairlead::sim {
namespace {

// Of two jobs with T = 0.5 s and p = 1 s, one `start_s` behind the other. Returns by how much, in s, after each of the
// first iterations. Both compute as long, so that differences of ends are those of the next starts.
std::vector<double> Differences(double start_s, size_t num) {
  std::vector<double> differences;
  for (size_t i = 1; i <= num; ++i) {
    OneCable cable;
    cable.policies = "mltcp";
    cable.simulate_s = 30;
    cable.AddJob(500, 500);
    cable.AddJob(500, 500, start_s * 1e3);
    cable.iterations = i;
    const RunResult run = cable.Run().at("mltcp");
    differences.push_back(run.jobs[1].end_s - run.jobs[0].end_s);
  }
  return differences;
}

TEST(MltcpSimulationTest, StartsPartAsTheFormulaSays) {
  // D + slope D (T - D) / (T intercept + slope D): 0.1 -> 0.3333 -> 0.4706 -> 0.4961. Weights lag by up to 1 ms, starts
  // by up to p / 1000.
  const std::vector<double> from_tenth = Differences(0.1, 3);
  EXPECT_NEAR(from_tenth[0], 0.3333, 4e-3);
  EXPECT_NEAR(from_tenth[1], 0.4706, 4e-3);
  EXPECT_NEAR(from_tenth[2], 0.4961, 2e-3);
}

TEST(MltcpSimulationTest, TwoHalfDutyJobsSlideApart) {
  // 150 ms in step, 100 ms apart; the start jitter breaks the tie of jobs that begin together.
  OneCable cable;
  cable.policies = "ecmp, mltcp";
  cable.AddJob(50, 50);
  cable.AddJob(50, 50);
  const auto runs = cable.Run();
  for (size_t j = 0; j < 2; ++j) {
    EXPECT_NEAR(runs.at("ecmp").jobs[j].iteration_s, 0.150, 1e-6);
    EXPECT_NEAR(runs.at("mltcp").jobs[j].iteration_s, 0.100, 3e-3) << "some iterations to part, of 200";
  }
}

TEST(MltcpSimulationTest, ThreeJobsTakeTurnsWithoutBeingTold) {
  // Demand 135 %: 3 x 45 ms at best.
  OneCable cable;
  cable.policies = "mltcp";
  for (int j = 0; j < 3; ++j) cable.AddJob(55, 45, 10.0 * j);
  const RunResult run = cable.Run().at("mltcp");
  for (const JobResult& job : run.jobs) EXPECT_NEAR(job.iteration_s, 0.135, 2e-3);
}

TEST(MltcpSimulationTest, WithoutSlopeItIsEcmp) {
  OneCable cable;
  cable.policies = "ecmp, mltcp";
  cable.random_phase = true;
  cable.AddJob(30, 70);
  cable.AddJob(50, 50);
  cable.AddJob(3, 97);
  EXPECT_NE(cable.Run().at("mltcp").event_hash, cable.Run().at("ecmp").event_hash) << "a test that can fail";
  cable.options = "mltcp: {slope: 0}\n";
  const auto runs = cable.Run();
  EXPECT_EQ(runs.at("mltcp").event_hash, runs.at("ecmp").event_hash);
}

TEST(MltcpSimulationTest, WithEndlessSlopeTheFirstIsServedAlone) {
  // The second begins 0.1 s later and gets next to nothing until the first, 0.4 s later, is through: it ends at 0.5 +
  // 0.5 + 0.5 s after the first one's beginning.
  OneCable cable;
  cable.policies = "mltcp";
  cable.options = "mltcp: {slope: 1000000, intercept: 0.001}\n";
  cable.iterations = 1;
  cable.AddJob(500, 500);
  cable.AddJob(500, 500, 100);
  const RunResult run = cable.Run().at("mltcp");
  EXPECT_NEAR(run.jobs[0].end_s, 1.0, 2e-3);
  EXPECT_NEAR(run.jobs[1].end_s, 1.5, 2e-3);
}

TEST(MltcpSimulationTest, TheJobsProgressCountsWhereItIsTold) {
  // One phase of one ring: the flow's own share is the job's.
  OneCable cable;
  cable.policies = "mltcp";
  cable.AddJob(50, 50);
  cable.AddJob(50, 50, 20);
  const RunResult own = cable.Run().at("mltcp");
  cable.options = "mltcp: {progress: job}\n";
  const RunResult of_job = cable.Run().at("mltcp");
  for (size_t j = 0; j < 2; ++j) EXPECT_NEAR(of_job.jobs[j].iteration_s, own.jobs[j].iteration_s, 1e-9);
}

TEST(MltcpSimulationTest, FastForwardKeepsItsPace) {
  OneCable cable;
  cable.policies = "mltcp";
  cable.AddJob(55, 45);
  cable.AddJob(70, 30, 10);
  const RunResult fast = cable.Run().at("mltcp");
  cable.fast_forward = false;
  const RunResult exact = cable.Run().at("mltcp");
  EXPECT_GT(fast.fast_forward_fraction, 0.3);
  for (size_t j = 0; j < 2; ++j) EXPECT_NEAR(fast.jobs[j].iterations, exact.jobs[j].iterations, 0.5);
}

}  // namespace
}  // namespace fairlead::sim
