#include "report/explain_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "report/printable_text.h"
#include "report/report_test_data.h"
#include "report/text_table.h"

namespace fairlead::report {
namespace {

using testing::HasSubstr;
using testing::Not;

void ExpectFits(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(DisplayWidth(line), kTextWidth) << line;
  EXPECT_THAT(text, Not(HasSubstr("nan")));
}

TEST(ExplainJobTest, BlamesLinkAndSharer) {
  const sim::SimulationReport report = MakeSmallReport();
  const Result<JobExplanation> result = ExplainJob(report.runs[2], JobId(1));
  ASSERT_TRUE(result.ok());
  const JobExplanation& e = *result;
  // small under crux: 2,250 iterations x 0.6 s = 1,350 s behind, x 8 GPUs = 3 GPU-hours in an hour, 72 a day.
  EXPECT_NEAR(e.lost_s, 1350, 1e-9);
  EXPECT_NEAR(e.gpu_hours_lost, 3, 1e-12);
  EXPECT_NEAR(e.gpu_hours_lost_per_day, 72, 1e-9);
  EXPECT_DOUBLE_EQ(e.contention_s, 720);
  ASSERT_EQ(e.links.size(), 1u);
  EXPECT_EQ(e.links[0].name, "leaf0->spine0");
  EXPECT_DOUBLE_EQ(e.links[0].utilization, 0.5);
  ASSERT_EQ(e.links[0].sharers.size(), 1u);
  EXPECT_EQ(e.links[0].sharers[0].id, JobId(0));
  EXPECT_EQ(e.links[0].sharers[0].name, "big");
  EXPECT_TRUE(e.links[0].sharers[0].yielded);
  EXPECT_TRUE(e.delayed.empty());
}

TEST(ExplainJobTest, SumsOverLinksAndSortsByLoss) {
  sim::RunResult run = MakeSmallReport().runs[0];
  run.contention = {{JobId(0), JobId(1), LinkId(6), "a", 10, 1, false},
                    {JobId(0), JobId(1), LinkId(7), "b", 20, 5, false},
                    {JobId(0), JobId(9), LinkId(6), "a", 30, 3, true},
                    {JobId(1), JobId(0), LinkId(6), "a", 40, 2, false},
                    {JobId(1), JobId(0), LinkId(7), "b", 50, 4, true}};
  const JobExplanation e = ExplainJob(run, JobId(0)).value();
  // Link b: 5 s; link a: 1 + 3 = 4 s, job 9 before job 1.
  ASSERT_EQ(e.links.size(), 2u);
  EXPECT_EQ(e.links[0].name, "b");
  EXPECT_DOUBLE_EQ(e.links[1].lost_s, 4);
  EXPECT_EQ(e.links[1].sharers[0].id, JobId(9));
  EXPECT_DOUBLE_EQ(e.contention_s, 9);
  // It delays job 1 by 2 + 4 s over two links.
  ASSERT_EQ(e.delayed.size(), 1u);
  EXPECT_DOUBLE_EQ(e.delayed[0].lost_s, 6);
  EXPECT_DOUBLE_EQ(e.delayed[0].shared_s, 90);
  EXPECT_TRUE(e.delayed[0].yielded);
  ExpectFits(RenderExplanation(e));
}

TEST(ExplainJobTest, NoSuchJobNamesTheRange) {
  const Status status = ExplainJob(MakeSmallReport().runs[0], JobId(7)).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "job 7: the run has no such job; its 2 jobs have ids from 0 to 1");
  EXPECT_EQ(ExplainJob({}, JobId(7)).status().message(), "job 7: the run has no jobs");
  EXPECT_FALSE(ExplainJob({}, JobId()).ok());
}

TEST(ExplainReportTest, Text) {
  const std::string text = RenderExplanation(ExplainJob(MakeSmallReport().runs[2], JobId(1)).value());
  EXPECT_THAT(text, HasSubstr("Job 1 \"small\": 8 GPUs, model bert-large; policy crux, seed 1\n"));
  EXPECT_THAT(text, HasSubstr("1.6 s per iteration, 1 s alone: 1.60x"));
  EXPECT_THAT(text, HasSubstr("cost 3 GPU-hours"));
  EXPECT_THAT(text, HasSubstr("Bounding link: leaf0->spine0 (200 Gb/s, 50.0 % used), shared with 1 other job; 12 min"));
  EXPECT_THAT(text, HasSubstr("Of 22.5 min lost, 53.3 % is blamed on other jobs"));  // 720 / 1350
  EXPECT_THAT(text, HasSubstr("Decision: level 1, place 1 in the order of priorities. Reason: because"));
  EXPECT_THAT(text, HasSubstr("yields"));
  ExpectFits(text);
}

TEST(ExplainReportTest, JobsThatHaveNothingToExplain) {
  sim::RunResult run = MakeSmallReport().runs[2];
  EXPECT_THAT(RenderExplanation(ExplainJob(run, JobId(0)).value()), HasSubstr("It runs at full speed"));
  run.jobs[0].start_s = -1;
  EXPECT_THAT(RenderExplanation(ExplainJob(run, JobId(0)).value()), HasSubstr("never began"));
  run.jobs[1].slowdown = 0;
  run.partial = true;
  const std::string text = RenderExplanation(ExplainJob(run, JobId(1)).value());
  EXPECT_THAT(text, HasSubstr("It completed no iteration."));
  EXPECT_THAT(text, HasSubstr("PARTIAL run, stopped after 60 min"));
}

TEST(ExplainReportTest, HostileNamesFitAndUnknownNumbersAreNull) {
  sim::RunResult run = MakeTestReport({.num_jobs = 30, .num_seeds = 1, .num_leaves = 4, .num_spines = 2}).runs[0];
  for (sim::JobResult& job : run.jobs) job.name = std::string(200, 'n') + "\x1b[2J";
  run.jobs[3].iteration_s = std::nan("");
  const JobExplanation e = ExplainJob(run, JobId(3)).value();
  const std::string text = RenderExplanation(e);
  ExpectFits(text);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  const Json json = Json::parse(Dump(ToJson(e)));
  EXPECT_TRUE(json["iteration_s"].is_null());
  EXPECT_TRUE(json["gpu_hours_lost"].is_null());
  EXPECT_EQ(json["job"], 3);
}

TEST(ExplainReportTest, JsonCarriesTheSameNumbers) {
  const Json json = ToJson(ExplainJob(MakeSmallReport().runs[2], JobId(1)).value());
  EXPECT_EQ(json["bounding_link"], "leaf0->spine0");
  EXPECT_EQ(json["links"][0]["sharers"][0]["job"], 0);
  EXPECT_EQ(json["links"][0]["sharers"][0]["lost_s"], 720.0);
  EXPECT_NEAR(json["gpu_hours_lost_per_day"].get<double>(), 72, 1e-9);
}

}  // namespace
}  // namespace fairlead::report
