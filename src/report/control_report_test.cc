#include "report/control_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fairlead::report {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(ControlReportTest, IsAbsentWithoutSteering) {
  sim::SimulationReport report;
  EXPECT_THAT(DescribeControl(report), SizeIs(0));
  report.runs.resize(2);
  EXPECT_THAT(DescribeControl(report), SizeIs(0));
}

TEST(ControlReportTest, AddsUpSeedsAndKeepsPoliciesApart) {
  sim::SimulationReport report;
  for (const char* policy : {"ecmp", "crux", "crux"}) {
    sim::RunResult& run = report.runs.emplace_back();
    run.policy = policy;
    run.num_plans = 10;
    if (run.policy == "crux") {
      run.control = {{.time_s = 1, .path_changes = 30, .level_changes = 1}, {.time_s = 2, .path_changes = 5}};
    }
  }
  const auto sentences = DescribeControl(report);
  ASSERT_THAT(sentences, SizeIs(1));
  EXPECT_EQ(sentences[0],
            "crux: 4 of 20 new plans changed running jobs: 70 flows moved, at most 30 at once, and 2 "
            "level changes.");
}

TEST(ControlReportTest, MigrationsAreAddedUp) {
  sim::SimulationReport report;
  for (int draw = 0; draw < 2; ++draw) {
    sim::RunResult& run = report.runs.emplace_back();
    run.policy = "ecmp";
    run.migration = {.num_plans = 2, .num_unrelieved = 1, .moved_jobs = 3, .moved_gpus = 24, .stopped_s = 20.5};
  }
  EXPECT_THAT(
      DescribeControl(report),
      ElementsAre("ecmp: 4 times jobs changed hosts, 6 jobs and 48 GPUs in all, which stood still for 41.0 s; 2 "
                  "times a rack had too many rings and no plan helped."));
  for (sim::RunResult& run : report.runs) run.migration.emplace();
  EXPECT_THAT(DescribeControl(report), SizeIs(0));
}

TEST(ControlReportTest, ChoicesAmongPlacementsAreAddedUp) {
  sim::SimulationReport report;
  for (int draw = 0; draw < 2; ++draw) {
    sim::RunResult& run = report.runs.emplace_back();
    run.policy = "cassini";
    run.placement_choices = {.num_choices = 2,
                             .num_candidates = 15,
                             .num_looped = 3,
                             .num_cut_off = 0,
                             .num_fallbacks = 0,
                             .num_changed = 1,
                             .score = 1.9,
                             .first_score = 1.6};
  }
  EXPECT_THAT(
      DescribeControl(report),
      ElementsAre(
          "cassini: 4 jobs had a choice of 7.5 places on average, and 2 took another than the placement "
          "policy's, which raised the mean score of their links from 0.800 to 0.950; 6 places closed loops, and "
          "0 jobs had only such."));
  for (sim::RunResult& run : report.runs) run.placement_choices.emplace();
  EXPECT_THAT(DescribeControl(report), SizeIs(0)) << "nobody had a choice";
}

TEST(ControlReportTest, ErrorsAreMediansOfSizes) {
  sim::SimulationReport report;
  sim::RunResult& run = report.runs.emplace_back();
  run.policy = "crux";
  for (const double error : {-0.03, 0.01, 0.02}) {
    run.jobs.emplace_back().profiling_error = sim::ProfilingError{30, error, error / 10, 2 * error};
  }
  run.jobs.emplace_back();  // sends nothing
  const auto sentences = DescribeControl(report);
  ASSERT_THAT(sentences, SizeIs(1));
  EXPECT_THAT(sentences[0], AllOf(HasSubstr("3 jobs profiled"), HasSubstr("iteration time 2.0 % (largest 3.0 %)"),
                                  HasSubstr("work 0.2 % (largest 0.3 %)"), HasSubstr("bytes 4.0 % (largest 6.0 %)")));
}

}  // namespace
}  // namespace fairlead::report
