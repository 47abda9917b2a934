// A scenario simulated without one of its jobs: the others stay where they were.
#include "sim/placement_record.h"

#include <gtest/gtest.h>

#include <atomic>

#include "sim/scenario.h"
#include "sim/scenario_runner.h"

namespace fairlead::sim {
namespace {

Scenario ThreeJobs(const std::string& placement) {
  const auto scenario = ParseScenario(
      "title: three jobs\n"
      "fabric: {kind: clos2, hosts_per_leaf: 2, leaves: 3, spines: 1, oversubscription: 2, host: {gpus: 8, nics: 4}}\n"
      "placement: " +
          placement +
          "\n"
          "seeds: 1\n"
          "policies: [ecmp]\n"
          "simulate_s: 20\n"
          "jobs:\n"
          "  - {name: a, gpus: 8, compute_s: 0.2, size_mb: 8000, collective: ring-all-reduce}\n"
          "  - {name: b, gpus: 16, compute_s: 0.2, size_mb: 8000, collective: ring-all-reduce}\n"
          "  - {name: c, gpus: 16, compute_s: 0.2, size_mb: 8000, collective: ring-all-reduce}\n",
      "three.yaml", {});
  EXPECT_TRUE(scenario.ok()) << scenario.status().message();
  return *scenario;
}

class PlacementRecordTest : public ::testing::TestWithParam<const char*> {};

TEST_P(PlacementRecordTest, WithoutAJobTheOthersStay) {
  const Scenario scenario = ThreeJobs(GetParam());
  const std::atomic<bool> never = false;
  std::vector<PlacementRecord> with, without;
  ScenarioRunOptions options;
  options.placements = &with;
  ASSERT_TRUE(RunScenario(scenario, options, never, nullptr).ok());
  ASSERT_EQ(with.size(), 1u);
  ASSERT_EQ(with[0].size(), 3u);

  options.absent_jobs = {JobId(0)};
  options.known_placements = &with;
  options.placements = &without;
  const auto report = RunScenario(scenario, options, never, nullptr);
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->runs[0].jobs.size(), 2u);
  EXPECT_EQ(report->runs[0].jobs[0].id, JobId(1));
  ASSERT_EQ(without[0].size(), 2u);
  EXPECT_EQ(without[0].at(JobId(1)), with[0].at(JobId(1)));
  EXPECT_EQ(without[0].at(JobId(2)), with[0].at(JobId(2)));
}

INSTANTIATE_TEST_SUITE_P(Policies, PlacementRecordTest, ::testing::Values("locality-first", "random"),
                         [](const auto& tested) { return std::string(tested.param).substr(0, 6); });

TEST(PlacementRecordShiftTest, WithoutTheLedgerTheyWouldMove) {
  // Locality-first packs b and c from the first leaf on when a is not there.
  const Scenario scenario = ThreeJobs("locality-first");
  const std::atomic<bool> never = false;
  std::vector<PlacementRecord> with, anew;
  ScenarioRunOptions options;
  options.placements = &with;
  ASSERT_TRUE(RunScenario(scenario, options, never, nullptr).ok());
  options.absent_jobs = {JobId(0)};
  options.placements = &anew;
  ASSERT_TRUE(RunScenario(scenario, options, never, nullptr).ok());
  EXPECT_NE(anew[0].at(JobId(1)), with[0].at(JobId(1)));
}

}  // namespace
}  // namespace fairlead::sim
