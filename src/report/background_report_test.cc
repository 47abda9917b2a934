#include "report/background_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/json_report.h"
#include "report/text_report.h"

namespace fairlead::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

sim::SimulationReport TwoSeeds() {
  sim::SimulationReport report;
  for (int seed = 0; seed < 2; ++seed) {
    sim::RunResult& run = report.runs.emplace_back();
    run.policy = "crux";
    run.background.push_back({.name = "chat",
                              .num_messages = 100,
                              .gigabytes = 50,
                              .mean_s = 0.03,
                              .p50_s = 0.02 + 0.02 * seed,
                              .p99_s = 0.2,
                              .max_s = 0.4,
                              .mean_slowdown = 1.5});
    run.background.push_back({.name = "checkpoints", .num_unfinished = 1, .num_skipped = 2u + seed});
  }
  return report;
}

TEST(BackgroundReportTest, OneSentenceForEachStreamOverAllSeeds) {
  EXPECT_THAT(
      DescribeBackground(TwoSeeds()),
      ElementsAre("crux: chat: 200 messages of 0.5 GB on average took 30 ms at the median and at most 200 ms in "
                  "99 of 100 cases, 1.50x as long as alone.",
                  "crux: checkpoints: no message has ended; 2 had not ended; 5 were due before the last one "
                  "had ended."));
  EXPECT_TRUE(DescribeBackground({}).empty());
}

TEST(BackgroundReportTest, IsPartOfTextAndJson) {
  const sim::SimulationReport report = TwoSeeds();
  EXPECT_THAT(RenderText(report).Render(), HasSubstr("crux: chat: 200 messages"));
  const Json json = ToJson(report);
  EXPECT_EQ(json["runs"][1]["background"][0]["p50_s"], 0.04);
  EXPECT_EQ(json["runs"][1]["background"][1]["skipped"], 3);
}

}  // namespace
}  // namespace fairlead::report
