#include "traffic/crux/link_simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/random.h"

namespace fairlead::traffic::crux {
namespace {

constexpr double kSecondsTolerance = 1e-9;

LinkJob MakeJob(double compute, double link, double start_fraction, double initial_phase, uint32_t level) {
  return {Seconds(compute), Seconds(link), start_fraction, initial_phase, level};
}

LinkSimulation RunPair(const LinkJob& first, const LinkJob& second, double horizon) {
  LinkSimulation simulation(std::array{first, second});
  simulation.RunUntil(Seconds(horizon));
  return simulation;
}

// One row of the tables of the two worked examples.
struct ExpectedRow {
  std::array<double, 2> link;
  std::array<double, 2> compute;
  std::array<double, 2> gpus;
  double utilization;  // n_1 * compute_1 + n_2 * compute_2 over 12 s * all GPUs
};

void ExpectRow(const LinkSimulation& simulation, const ExpectedRow& row) {
  const double horizon = simulation.now().value();
  double busy = 0;
  for (size_t j = 0; j < 2; ++j) {
    EXPECT_NEAR(simulation.usage(j).link.value(), row.link[j], kSecondsTolerance) << "job " << j;
    EXPECT_NEAR(simulation.usage(j).compute.value(), row.compute[j], kSecondsTolerance) << "job " << j;
    busy += row.gpus[j] * simulation.usage(j).compute.value();
  }
  EXPECT_NEAR(busy / (horizon * (row.gpus[0] + row.gpus[1])), row.utilization, kSecondsTolerance);
}

// Figure 11: J1 has C = 2, t = 2, W = 10; J2 has C = 1, t = 1, W = 5; 10 GPUs each, no overlap, both ready to send at
// 0.
LinkSimulation RunExample1(bool first_goes_first) {
  const uint32_t level_1 = first_goes_first ? 0 : 1;
  return RunPair(MakeJob(2, 2, 1, 1, level_1), MakeJob(1, 1, 1, 1, 1 - level_1), 12);
}

TEST(LinkSimulationTest, Figure11WithTheFirstJobFirst) {
  const LinkSimulation simulation = RunExample1(true);
  // (10 * 6 + 10 * 3) / (20 * 12) = 90/240. Idle: 12 - 6 = 6 s and 12 - 3 = 9 s follow from the compute column.
  ExpectRow(simulation, {{6, 3}, {6, 3}, {10, 10}, 90.0 / 240});
  EXPECT_EQ(simulation.usage(0).iterations, 3u);
  EXPECT_EQ(simulation.usage(1).iterations, 3u);
  // U_T = F_T = 10/2 * 6 + 5/1 * 3 = 45 GFLOP, both from compute and from link seconds.
  EXPECT_NEAR(10.0 / 2 * simulation.usage(0).compute.value() + 5 * simulation.usage(1).compute.value(), 45,
              kSecondsTolerance);
  EXPECT_NEAR(10.0 / 2 * simulation.usage(0).link.value() + 5 * simulation.usage(1).link.value(), 45,
              kSecondsTolerance);
}

TEST(LinkSimulationTest, Figure11WithTheSecondJobFirst) {
  const LinkSimulation simulation = RunExample1(false);
  ExpectRow(simulation, {{4, 6}, {4, 6}, {10, 10}, 100.0 / 240});
  EXPECT_EQ(simulation.usage(0).iterations, 2u);
  EXPECT_EQ(simulation.usage(1).iterations, 6u);
  // 10/2 * 4 + 5/1 * 6 = 50 GFLOP.
  EXPECT_NEAR(10.0 / 2 * simulation.usage(0).compute.value() + 5 * simulation.usage(1).compute.value(), 50,
              kSecondsTolerance);
  EXPECT_NEAR(10.0 / 2 * simulation.usage(0).link.value() + 5 * simulation.usage(1).link.value(), 50,
              kSecondsTolerance);
}

// Figure 12: J1 has C = 4, t = 1 and 2 GPUs; J2 has C = 2, t = 3 and 12 GPUs; communication may start half-way.
LinkSimulation RunExample2(double phase_2, bool first_goes_first) {
  const uint32_t level_1 = first_goes_first ? 0 : 1;
  return RunPair(MakeJob(4, 1, 0.5, 0, level_1), MakeJob(2, 3, 0.5, phase_2, 1 - level_1), 12);
}

TEST(LinkSimulationTest, Figure12WithTheSecondJobHalfWay) {
  // (2 * 12 + 12 * 5) / (14 * 12) = 84/168; J2 idles 12 - 5 = 7 s.
  ExpectRow(RunExample2(0.5, true), {{3, 7}, {12, 5}, {2, 12}, 84.0 / 168});
  // (2 * 12 + 12 * 6) / 168 = 96/168; J2 idles 6 s.
  ExpectRow(RunExample2(0.5, false), {{3, 9}, {12, 6}, {2, 12}, 96.0 / 168});
}

TEST(LinkSimulationTest, Figure12WithBothJobsAtTheirStart) {
  ExpectRow(RunExample2(0, true), {{3, 7}, {12, 6}, {2, 12}, 96.0 / 168});
  // (2 * 11 + 12 * 6) / 168 = 94/168 = 56.0 %.
  ExpectRow(RunExample2(0, false), {{2, 9}, {11, 6}, {2, 12}, 94.0 / 168});
}

TEST(LinkSimulationTest, EqualLevelsShareTheLink) {
  // Two jobs, C = t = 1, ready to send at 0: both send for 2 s at half rate, compute for 1 s, and so on: period 3 s.
  const LinkSimulation simulation = RunPair(MakeJob(1, 1, 1, 1, 0), MakeJob(1, 1, 1, 1, 0), 300);
  for (size_t j = 0; j < 2; ++j) {
    EXPECT_EQ(simulation.usage(j).iterations, 100u);
    EXPECT_NEAR(simulation.usage(j).compute.value(), 100, 1e-6);
    EXPECT_NEAR(simulation.usage(j).link.value(), 100, 1e-6);
  }
}

TEST(LinkSimulationTest, StrictLevelsSettleIntoInterleaving) {
  // The same jobs, one first: after a transient of 1 s both have period 2 s. In 100 s: compute 50 s and 49 s, link 50
  // and 50.
  const LinkSimulation simulation = RunPair(MakeJob(1, 1, 1, 1, 0), MakeJob(1, 1, 1, 1, 1), 100);
  EXPECT_NEAR(simulation.usage(0).compute.value(), 50, 1e-6);
  EXPECT_NEAR(simulation.usage(1).compute.value(), 49, 1e-6);
  EXPECT_NEAR(simulation.usage(0).link.value(), 50, 1e-6);
  EXPECT_NEAR(simulation.usage(1).link.value(), 50, 1e-6);
}

std::vector<LinkJob> DrawJobs(Random* random) {
  std::vector<LinkJob> jobs(1 + random->Below(5));
  for (LinkJob& job : jobs) {
    job = MakeJob(random->Uniform(0.1, 3), random->Uniform(0.1, 3), random->Uniform(), random->Uniform(),
                  static_cast<uint32_t>(random->Below(4)));
  }
  return jobs;
}

// Theorem 1. Within an iteration neither compute nor transmission can be more than one iteration ahead of the other.
// The compute that the initial phase says was done before time 0 belongs to the first iteration, so it counts.
TEST(LinkSimulationTest, WorkReleasedByTheLinkFollowsWorkComputed) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const std::vector<LinkJob> jobs = DrawJobs(&random);
    std::vector<double> work(jobs.size());
    double bound = 0;
    for (double& w : work) bound += w = random.Uniform(1, 100);
    LinkSimulation simulation(jobs);
    while (simulation.Step(Seconds(100))) {
      double computed = 0;
      double released = 0;
      for (size_t j = 0; j < jobs.size(); ++j) {
        computed += work[j] * (jobs[j].initial_phase + simulation.usage(j).compute / jobs[j].compute_time);
        released += work[j] * (simulation.usage(j).link / jobs[j].link_time);
      }
      ASSERT_LE(std::abs(computed - released), bound * (1 + kSecondsTolerance)) << "seed " << seed;
    }
  }
}

TEST(LinkSimulationTest, TheLinkCarriesOneSecondPerSecondAtMost) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const std::vector<LinkJob> jobs = DrawJobs(&random);
    LinkSimulation simulation(jobs);
    while (simulation.Step(Seconds(50))) {
      double link = 0;
      for (size_t j = 0; j < jobs.size(); ++j) {
        link += simulation.usage(j).link.value();
        ASSERT_LE(simulation.usage(j).compute.value(), simulation.now().value() + kSecondsTolerance);
      }
      ASSERT_LE(link, simulation.now().value() + kSecondsTolerance) << "seed " << seed;
    }
  }
}

TEST(LinkSimulationTest, OneJobAloneMatchesTheClosedForm) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const LinkJob job = MakeJob(random.Uniform(0.1, 3), random.Uniform(0.1, 3), random.Uniform(), 0, 0);
    const double period =
        std::max(job.compute_time.value(), job.start_fraction * job.compute_time.value() + job.link_time.value());
    LinkSimulation simulation(std::array{job});
    // Half a period past the 50th iteration.
    simulation.RunUntil(Seconds(50.5 * period));
    EXPECT_EQ(simulation.usage(0).iterations, 50u) << "seed " << seed;
  }
}

TEST(LinkSimulationTest, CompanyNeverSpeedsAJobUp) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const std::vector<LinkJob> jobs = DrawJobs(&random);
    LinkSimulation together(jobs);
    together.RunUntil(Seconds(40));
    for (size_t j = 0; j < jobs.size(); ++j) {
      LinkSimulation alone(std::array{jobs[j]});
      alone.RunUntil(Seconds(40));
      EXPECT_LE(together.usage(j).compute.value(), alone.usage(0).compute.value() + kSecondsTolerance)
          << "seed " << seed;
      EXPECT_LE(together.usage(j).link.value(), alone.usage(0).link.value() + kSecondsTolerance) << "seed " << seed;
    }
  }
}

TEST(LinkSimulationTest, AJobWithoutComputeKeepsTheLinkBusy) {
  const LinkSimulation simulation = RunPair(MakeJob(0, 0.5, 1, 0, 0), MakeJob(1, 1, 1, 1, 1), 10);
  EXPECT_EQ(simulation.usage(0).iterations, 20u);
  EXPECT_EQ(simulation.usage(1).link.value(), 0);
}

}  // namespace
}  // namespace fairlead::traffic::crux
