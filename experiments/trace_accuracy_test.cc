// How far fast-forward is from simulating every iteration, per job, on a whole day of the two-week trace.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "experiments/trace_scenario.h"
#include "sim/scenario_runner.h"

namespace fairlead::experiments {
namespace {

TEST(TraceAccuracyTest, ADayOfTheTraceAgreesWithEveryIterationSimulated) {
#ifndef NDEBUG
  GTEST_SKIP() << "a day iteration by iteration takes many minutes in a debug build";
#endif
  auto scenario = LoadTraceScenario();
  ASSERT_TRUE(scenario.ok()) << scenario.status().message();
  CutDays(1, 2, &*scenario);  // a Sunday; busy days take a hundred seconds
  const std::atomic<bool> never = false;
  const auto run = [&](bool fast_forward) {
    scenario->simulation.fast_forward = fast_forward;
    return sim::RunScenario(*scenario, {.num_threads = 2}, never, nullptr).value();
  };
  const sim::SimulationReport fast = run(true);
  const sim::SimulationReport exact = run(false);
  ASSERT_EQ(fast.runs.size(), 2u);
  for (size_t r = 0; r < fast.runs.size(); ++r) {
    EXPECT_GT(fast.runs[r].fast_forward_fraction, 0.99);
    EXPECT_EQ(exact.runs[r].fast_forward_fraction, 0);
    EXPECT_NEAR(fast.runs[r].busy, exact.runs[r].busy, 0.0005);
    ASSERT_GE(exact.runs[r].jobs.size(), 20u);
    for (size_t j = 0; j < exact.runs[r].jobs.size(); ++j) {
      const sim::JobResult& expected = exact.runs[r].jobs[j];
      const sim::JobResult& actual = fast.runs[r].jobs[j];
      EXPECT_EQ(actual.end_s, expected.end_s);
      if (expected.iteration_s == 0) continue;
      EXPECT_NEAR(actual.iteration_s / expected.iteration_s, 1, 0.005) << expected.name;
      EXPECT_NEAR(actual.compute_s / expected.compute_s, 1, 0.005) << expected.name;
    }
  }
}

}  // namespace
}  // namespace fairlead::experiments
