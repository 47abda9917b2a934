#include "report/health_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fairlead::report {
namespace {

using ::testing::SizeIs;

TEST(HealthReportTest, IsAbsentWithoutFaultsThatMetAJob) {
  sim::SimulationReport report;
  report.runs.resize(2);
  EXPECT_THAT(DescribeHealth(report), SizeIs(0));
  report.runs[0].health = sim::HealthResult{.faults = {{.host = HostId(0), .began_s = 5}}};
  EXPECT_THAT(DescribeHealth(report), SizeIs(0));
}

TEST(HealthReportTest, TimesAreFromTheMomentAtWhichAJobMetTheFault) {
  sim::SimulationReport report;
  for (const double hit_s : {100.0, 200.0}) {
    sim::RunResult& run = report.runs.emplace_back();
    run.policy = "crux";
    run.allocation = "aiturbo";
    run.health = sim::HealthResult{
        .faults = {{.host = HostId(0), .began_s = 50, .hit_s = hit_s, .found_s = hit_s + 30, .isolated_s = hit_s + 41},
                   {.host = HostId(1), .began_s = 60}},
        .hung_gpu_s = 3600,
        .repeated_gpu_s = 7200,
        .slowed_gpu_s = hit_s == 100 ? 1800.0 : 0.0,
        .away_gpu_s = 14'400,
        .num_wrong_isolations = 1};
  }
  report.runs[1].health->faults[0].isolated_s = -1;
  const auto sentences = DescribeHealth(report);
  ASSERT_THAT(sentences, SizeIs(2));
  EXPECT_EQ(sentences[0],
            "aiturbo with crux: 2 of 4 faults met a job; found after 30 s, host isolated after 41 s (1 of 2), training "
            "on sound GPUs never.");
  EXPECT_EQ(sentences[1],
            "aiturbo with crux: faults cost jobs 3.2 GPU-hours a run (1.0 hung, 2.0 repeated, 0.0 restarting, 0.2 "
            "slowed), and isolated hosts were away for 4.0; hosts isolated without a broken GPU: 2.");
}

}  // namespace
}  // namespace fairlead::report
