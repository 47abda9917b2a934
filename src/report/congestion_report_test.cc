#include "report/congestion_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "report/html_report.h"
#include "report/json_report.h"
#include "report/report_test_data.h"
#include "report/text_report.h"

namespace fairlead::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Two seeds of 3,600 s: 9,000,000 and 27,000,000 CNPs over both jobs, 2,500 and 7,500 per second; lost 0.2 and 0.4 %.
// Under crux no job is held back.
sim::SimulationReport MakeCongestedReport() {
  sim::SimulationReport report = MakeSmallReport();
  for (sim::RunResult& run : report.runs) {
    const double seed = run.policy == "crux" ? 0 : static_cast<double>(run.seed);
    run.congestion_loss = 0.002 * seed;
    run.jobs[0].cnps = seed == 2 ? 25e6 : 7e6 * seed;
    run.jobs[1].cnps = 2e6 * (seed > 0 ? 1 : 0);
  }
  return report;
}

constexpr char kSentence[] =
    "ecmp: congestion control sent 5,000 CNPs per second; links that held flows back lost 0.3 % to the saw-tooth of "
    "rates.";

TEST(CongestionReportTest, IsAbsentWhereItWasNotModelled) {
  const sim::SimulationReport report = MakeSmallReport();
  EXPECT_THAT(DescribeCongestion(report), IsEmpty());
  EXPECT_THAT(RenderText(report).Render(), Not(HasSubstr("CNP")));
  EXPECT_THAT(RenderHtml(report, {}), Not(HasSubstr("CNP")));
  EXPECT_THAT(RenderJson(report), Not(HasSubstr("cnp")));
  EXPECT_THAT(RenderJson(report), Not(HasSubstr("congestion_loss")));
}

TEST(CongestionReportTest, GivesMeansOverSeedsForEachPolicy) {
  EXPECT_THAT(DescribeCongestion(MakeCongestedReport()),
              ElementsAre(kSentence, "crux: congestion control had nothing to do: no switch held flows back."));
}

// That of the greatest mean over all links and seeds.
TEST(CongestionReportTest, NamesTheLongestQueue) {
  sim::SimulationReport report = MakeCongestedReport();
  for (sim::RunResult& run : report.runs) {
    for (sim::LinkResult& link : run.links) link.queue = {.mean_bytes = 0, .most_bytes = 0};
  }
  sim::LinkResult& link = report.runs[1].links.front();
  link.queue = {.mean_bytes = 5e3, .most_bytes = 80e3};
  const std::string expected = "; the longest queue, at " + link.name + ", holds 5,000 bytes on average, 80,000 while";
  EXPECT_THAT(DescribeCongestion(report).front(), HasSubstr(expected));
  const Json json = ToJson(report);
  EXPECT_EQ(json["runs"][1]["links"][0]["queue_bytes"], 5e3);
  EXPECT_EQ(json["runs"][1]["links"][0]["queue_bytes_most"], 80e3);
}

TEST(CongestionReportTest, IsInEveryReport) {
  const sim::SimulationReport report = MakeCongestedReport();
  EXPECT_THAT(RenderText(report).Render(), HasSubstr("ecmp: congestion control sent 5,000 CNPs per second"));
  EXPECT_THAT(RenderHtml(report, {}), HasSubstr(kSentence));
  const Json json = ToJson(report);
  EXPECT_EQ(json["runs"][1]["congestion_loss"], 0.004);
  EXPECT_EQ(json["runs"][1]["jobs"][0]["cnps"], 25e6);
  EXPECT_EQ(json["runs"][2]["jobs"][1]["cnps"], 0.0);
}

}  // namespace
}  // namespace fairlead::report
